package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/hookback/hookback/server/internal/store"
)

// sendChat sends by one of shoutrrr's services. The library takes no context; lane.try
// waits no longer than it should.
func sendChat(c *store.Channel, m *message) error {
	var r router.ServiceRouter
	r.SetLogger(log.New(io.Discard, "", 0))
	service, err := r.Locate(c.URL)
	if err != nil {
		return finalError{errors.New("the address of the channel is not understood any more")}
	}
	params := types.Params{}
	switch c.Kind {
	case "ntfy", "gotify", "pushover":
		params["title"] = m.headline()
	}
	if c.Kind == "ntfy" {
		params["click"] = m.view
	}
	return service.Send(m.plain(cleaners[c.Kind]), &params)
}

// cleaners make an agent's text harmless in the markup of a service. The others show a
// text as it is.
var cleaners = map[string]func(string) string{
	"slack":      strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace,
	"discord":    markdown,
	"mattermost": markdown,
	"ntfy":       asIs,
	"gotify":     asIs,
	"pushover":   asIs,
	"telegram":   asIs,
}

func asIs(text string) string { return text }

// markdown is a text that Markdown shows as it is, and that mentions nobody.
var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, ">", `\>`, "#", `\#`,
	"[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "<", `\<`, "!", `\!`, "-", `\-`, "+", `\+`, ":", "\\:", "@", "@\u200b",
).Replace

// sendTelegram posts to the Bot API itself: shoutrrr's own client has no timeout and
// takes a connection that failed for a message that was sent.
func (n *Notifier) sendTelegram(ctx context.Context, c *store.Channel, m *message) error {
	u, err := url.Parse(c.URL)
	var to telegram.Config
	if err == nil {
		err = to.SetURL(u)
	}
	if err != nil {
		return finalError{errors.New("the address of the channel is not understood any more")}
	}
	for _, chat := range to.Chats {
		if err := n.postTelegram(ctx, to.Token, map[string]any{
			"chat_id": chat, "text": m.plain(asIs), "disable_notification": !to.Notification,
			"link_preview_options": map[string]bool{"is_disabled": true},
		}); err != nil {
			return err
		}
	}
	return nil
}

func (n *Notifier) postTelegram(ctx context.Context, token string, text any) error {
	body, err := json.Marshal(text)
	if err != nil {
		return finalError{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.telegram+"/bot"+token+"/sendMessage", bytes.NewReader(body))
	if err != nil {
		return finalError{errors.New("the address of the channel is not understood any more")}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	said := struct {
		Description string `json:"description"`
	}{}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&said) // what it says is extra
	if err := answered(resp); err != nil {
		var final finalError
		err := fmt.Errorf("%w %s", err, line(said.Description, maxError))
		if errors.As(err, &final) {
			return finalError{err}
		}
		return err
	}
	return nil
}
