package notify

import (
	"strings"

	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/notify/slack"
)

// Slack has two kinds of addresses: of an app, whose bot takes answers, and of an incoming webhook.
var (
	slackKind    = kind{name: slack.Via, schemes: []string{slack.Via}, example: "slack://…", parse: parseSlack}
	slackWebhook = service{
		name: slack.Via, limit: maxBodyChars, protect: checkName("hooks.slack.com"),
		escape: strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace,
	}
)

func parseSlack(address string) (target, error) {
	if !slack.HasSocket(address) {
		return slackWebhook.parse(address)
	}
	a, err := slack.ParseAddress(address)
	return target{driver: slackApp{address: a}}, err
}

type slackApp struct {
	botChannel
	fixedHost
	address slack.Address
}

func (a slackApp) newBot(o *outlet) (*chat.Bot, string) {
	return slack.New(slack.Config{Config: o.chatConfig(), Address: a.address, HTTP: o.client, API: o.apis[slack.Via]}), a.address.AppToken
}
