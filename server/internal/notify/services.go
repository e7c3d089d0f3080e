package notify

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
)

// service is a kind of channel that shoutrrr implements.
type service struct {
	name, example string
	hasHost       bool                // the address names the server, which is no secret
	hasTitle      bool                // apart from the text
	hasClick      bool                // the message opens a link when it is tapped
	limit         int                 // of the details, in characters
	escape        func(string) string // for the markup of the service
	markup        []string            // parameters of the address that would turn text into markup or add links
	// protect makes the service connect through the guard.
	protect func(context.Context, *core, types.Service) error
}

var (
	ntfyService = service{
		name: "ntfy", example: "ntfy://ntfy.sh/TOPIC", hasHost: true, hasTitle: true, hasClick: true, limit: maxBodyChars, escape: verbatim,
		markup: []string{"actions", "attach", "click"},
		protect: func(_ context.Context, k *core, s types.Service) error {
			s.(*ntfy.Service).SetHTTPClient(k.client) //nolint:forcetypeassert // as the address says
			return nil
		},
	}
	gotifyService = service{
		name: "gotify", example: "gotify://…", hasHost: true, hasTitle: true, limit: maxBodyChars, escape: verbatim, markup: []string{"extras"},
		protect: protectClient((*gotify.Service).GetHTTPClient),
	}
	mattermostService = service{
		name: "mattermost", example: "mattermost://…", hasHost: true, limit: maxBodyChars, escape: escapeMarkdown,
		protect: protectClient((*mattermost.Service).GetHTTPClient),
	}
	pushoverService = service{
		name: "pushover", example: "pushover://…", hasTitle: true, limit: maxPushoverChars, escape: verbatim,
		protect: protectClient(func(s *pushover.Service) *http.Client { return s.Client }),
	}
	discordService = service{
		name: "discord", example: "discord://…", limit: maxBodyChars, escape: escapeMarkdown, protect: checkName("discord.com"),
	}
)

// protectClient makes the client of a service connect through the guard, with the TLS settings of the
// channel's address.
func protectClient[S types.Service](client func(S) *http.Client) func(context.Context, *core, types.Service) error {
	return func(_ context.Context, k *core, s types.Service) error {
		typed, ok := s.(S)
		if !ok || client(typed) == nil {
			return permanentError{errors.New("this kind of channel is not supported")}
		}
		c := client(typed)
		transport, ok := c.Transport.(*http.Transport)
		if !ok {
			transport = &http.Transport{}
		}
		k.Guard.Protect(transport)
		c.Transport, c.CheckRedirect = transport, netguard.RefuseRedirect
		return nil
	}
}

// checkName is for services that take no client: the guard checks the host to which they connect.
func checkName(host string) func(context.Context, *core, types.Service) error {
	return func(ctx context.Context, k *core, _ types.Service) error { return k.Guard.CheckName(ctx, host) }
}

func (s service) kind() kind {
	return kind{name: s.name, schemes: []string{s.name}, example: s.example, showsHost: s.hasHost, parse: s.parse}
}

// parse lets shoutrrr parse the address.
func (s service) parse(address string) (target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return target{}, err
	}
	for name := range u.Query() {
		if slices.Contains(s.markup, strings.ToLower(name)) {
			return target{}, &schema.FieldError{
				Field: "url", Detail: "must not set " + name + ": messages are plain text with one link, to the request",
			}
		}
	}
	_, err = new(router.ServiceRouter).Locate(address)
	return target{driver: &serviceChannel{service: s, address: u}}, err
}

// serviceChannel is a channel of a service.
type serviceChannel struct {
	oneWay
	service
	address *url.URL
}

func (c *serviceChannel) check(g *netguard.Guard) error {
	if !c.hasHost {
		return nil
	}
	return g.CheckURL(c.address)
}

// send lets shoutrrr send the message. It takes no context for that; sendWithTimeout limits the wait.
func (c *serviceChannel) send(ctx context.Context, o *outlet, m *message) error {
	var r router.ServiceRouter
	r.SetLogger(log.New(io.Discard, "", 0))
	s, err := r.Locate(o.channel.URL)
	if err != nil {
		return permanentError{err}
	}
	if err := c.protect(ctx, o.core, s); err != nil {
		return err
	}
	params := types.Params{}
	if c.hasTitle {
		params["title"] = m.headline()
	}
	if c.hasClick && m.onlyOn == "" {
		params["click"] = m.url
	}
	return s.Send(m.plain(c.escape, c.limit), &params)
}

func verbatim(text string) string { return text }

// escapeMarkdown escapes Markdown and breaks mentions.
var escapeMarkdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, ">", `\>`, "#", `\#`,
	"[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "<", `\<`, "!", `\!`, "-", `\-`, "+", `\+`, ":", "\\:", "@", "@\u200b",
).Replace
