package notify

import (
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/notify/slack"
)

// Slack has two kinds of addresses: of an app, whose bot takes answers, and of an incoming webhook.
var (
	slackKind    = kind{name: slack.Via, schemes: []string{slack.Via}, example: "slack://…", parse: parseSlack}
	slackWebhook = service{
		name: slack.Via, limit: maxBodyChars, protect: checkName("hooks.slack.com"),
		escape: slack.Escape,
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
	return slack.New(o.chatConfig(), a.address), a.address.AppToken
}
