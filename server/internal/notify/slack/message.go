package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// Send sends a message to the channels.
func (b *Bot) Send(ctx context.Context, m *chat.Message) error {
	offer := b.Offer(m.Question)
	if offer.CanReply {
		offer = buttons.Offer{Refused: "it asks for a text"}
	}
	blocks := []any{section(m.Plain + "\n\nAnswer in the dashboard: " + offer.Refused + ".")}
	if offer.Refused == "" {
		blocks = []any{section(m.Headline), verbatim(offer.Text), section(m.Footer)}
	}
	if elements := b.elements(m, offer.Buttons); len(elements) > 0 {
		blocks = append(blocks, map[string]any{"type": "actions", "elements": elements})
	}
	for _, to := range b.cfg.Channels {
		sent, err := b.post(ctx, to, m.Headline, blocks)
		if err != nil {
			return err
		}
		if err := b.AddMessage(ctx, sent, m, b.update); err != nil {
			return err
		}
	}
	return nil
}

// SendText sends a message that is not about a question.
func (b *Bot) SendText(ctx context.Context, text string) error {
	for _, to := range b.cfg.Channels {
		headline, _, _ := strings.Cut(text, "\n")
		if _, err := b.post(ctx, to, headline, []any{section(text)}); err != nil {
			return err
		}
	}
	return nil
}

// post sends blocks to a channel. Slack shows summary in its notifications.
func (b *Bot) post(ctx context.Context, channel, summary string, blocks []any) (sent store.ChatMessage, err error) {
	var reply struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}
	err = b.api.call(ctx, "chat.postMessage", b.cfg.BotToken, map[string]any{
		"channel": channel, "text": escape(summary), "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
	}, &reply)
	return store.ChatMessage{Chat: reply.Channel, Message: reply.TS}, err
}

// update replaces a message by the question and its outcome. That removes its buttons.
func (b *Bot) update(ctx context.Context, m store.ChatMessage, o chat.Outcome) error {
	blocks := []any{section(o.Result)}
	if o.Question != "" {
		blocks = []any{section(o.Headline), verbatim(o.Question), section(o.Result)}
	}
	return b.api.call(ctx, "chat.update", b.cfg.BotToken, map[string]any{
		"channel": m.Chat, "ts": m.Message, "text": escape(o.Result), "blocks": blocks,
	}, nil)
}

// maxSectionChars is the length of a section that Slack accepts.
const maxSectionChars = 3000

// section is a paragraph without markup, mentions and emoji.
func section(text string) any {
	if runes := []rune(text); len(runes) > maxSectionChars {
		text = string(runes[:maxSectionChars-1]) + "…"
	}
	return map[string]any{"type": "section", "text": plain(text)}
}

func plain(text string) any {
	return map[string]any{"type": "plain_text", "text": text, "emoji": false}
}

// verbatim shows text of an agent in a fixed-width font, unchanged.
func verbatim(text string) any {
	return map[string]any{"type": "rich_text", "elements": []any{map[string]any{
		"type": "rich_text_preformatted", "elements": []any{map[string]any{"type": "text", "text": text}},
	}}}
}

// elements are the buttons of a message: the answers and a link to the request.
func (b *Bot) elements(m *chat.Message, offered []buttons.Button) (list []any) {
	for i, button := range offered {
		element := map[string]any{"type": "button", "action_id": fmt.Sprintf("answer_%d", i), "text": plain(button.Label), "value": b.Data(m, button.Answer)}
		switch button.Answer {
		case buttons.Approve:
			element["style"] = "primary"
		case buttons.Deny:
			element["style"] = "danger"
		}
		list = append(list, element)
	}
	if m.Link != "" {
		list = append(list, map[string]any{"type": "button", "action_id": "open", "text": plain("Open in Hookback"), "url": m.Link})
	}
	return list
}

// escape escapes text for the members of the API that have markup.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace
