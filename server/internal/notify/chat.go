package notify

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
)

// sendChat sends by a service of shoutrrr. The library takes no context for sending;
// sendWithTimeout limits the wait.
func (n *Notifier) sendChat(ctx context.Context, c *store.Channel, m *message) error {
	var r router.ServiceRouter
	r.SetLogger(log.New(io.Discard, "", 0))
	service, err := r.Locate(c.URL)
	if err != nil {
		return permanentError{errors.New("the address of the channel is no longer valid")}
	}
	if err := n.protect(ctx, service); err != nil {
		return err
	}
	params, limit := types.Params{}, maxBodyChars
	if c.Kind == "pushover" {
		limit = maxPushoverChars
	}
	switch c.Kind {
	case "ntfy", "gotify", "pushover":
		params["title"] = m.headline()
	}
	if c.Kind == "ntfy" && m.onlyOn == "" {
		params["click"] = m.url
	}
	return service.Send(m.plain(escapers[c.Kind], limit), &params)
}

// protect makes a service connect through the guard.
func (n *Notifier) protect(ctx context.Context, service types.Service) error {
	var client *http.Client
	switch s := service.(type) {
	case *ntfy.Service:
		s.SetHTTPClient(n.client)
		return nil
	case *gotify.Service:
		client = s.GetHTTPClient()
	case *mattermost.Service:
		client = s.GetHTTPClient()
	case *pushover.Service:
		client = s.Client
	case *slack.Service:
		return n.Guard.CheckName(ctx, "hooks.slack.com")
	case *discord.Service:
		return n.Guard.CheckName(ctx, "discord.com")
	}
	if client == nil {
		return permanentError{errors.New("this kind of channel is not supported")}
	}
	transport, ok := client.Transport.(*http.Transport) // with the TLS settings of the channel's address
	if !ok {
		transport = &http.Transport{}
	}
	n.Guard.Protect(transport)
	client.Transport, client.CheckRedirect = transport, netguard.RefuseRedirect
	return nil
}

// escapers escape text for the markup of a service. Services without markup show it
// verbatim.
var escapers = map[string]func(string) string{
	"slack":      strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace,
	"discord":    escapeMarkdown,
	"mattermost": escapeMarkdown,
	"ntfy":       verbatim,
	"gotify":     verbatim,
	"pushover":   verbatim,
	"telegram":   verbatim,
}

func verbatim(text string) string { return text }

// escapeMarkdown escapes Markdown and breaks mentions.
var escapeMarkdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, ">", `\>`, "#", `\#`,
	"[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "<", `\<`, "!", `\!`, "-", `\-`, "+", `\+`, ":", "\\:", "@", "@\u200b",
).Replace
