package notify

import (
	"context"
	"strings"

	"github.com/hookback/hookback/server/internal/notify/chat"
)

// botChannel is embedded by drivers that send by a bot. A request has buttons if it may be answered by one.
type botChannel struct{}

func (botChannel) send(ctx context.Context, o *outlet, m *message) (err error) {
	if m.asked == nil {
		err = o.bot.SendText(ctx, m.plain(verbatim, maxBodyChars))
	} else {
		request := chat.Message{
			Notice: m.id, Question: m.asked, Headline: m.headline(), Footer: strings.TrimSpace(m.footer(verbatim)),
			Plain: m.plain(verbatim, maxBodyChars),
		}
		if strings.HasPrefix(m.url, "https://") { // services refuse buttons with local addresses
			request.Link = m.url
		}
		err = o.bot.Send(ctx, &request)
	}
	if chat.IsPermanent(err) {
		return permanentError{err}
	}
	return err
}

// chatConfig configures the bot of the channel.
func (o *outlet) chatConfig() chat.Config {
	return chat.Config{
		Channel: o.channel.ID, IsBrief: o.channel.IsBrief, Store: o.Store, Hub: o.hub, Accounts: o.Accounts, Feed: o.Feed, Codes: o.codes,
		Key: o.Store.Identity().Subkey("chat buttons"), Clock: o.Clock, Log: o.Log,
		HTTP: o.client, API: o.apis[o.channel.Kind],
	}
}
