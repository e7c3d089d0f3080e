package telegram

import (
	"context"
	"strconv"

	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// Send sends a message to the chats of the channel.
func (b *Bot) Send(ctx context.Context, m *chat.Message) error {
	offer := b.Offer(m.Question)
	params := map[string]any{
		"text": m.Plain, "disable_notification": b.cfg.Silent, "link_preview_options": map[string]bool{"is_disabled": true},
	}
	if offer.Refused != "" {
		params["text"] = m.Plain + "\n\nAnswer in the dashboard: " + offer.Refused + "."
	} else {
		before := m.Headline + "\n\n"
		params["text"] = before + offer.Text + "\n\n" + m.Footer
		params["entities"] = []entity{{"pre", buttons.Length16(before), buttons.Length16(offer.Text)}}
	}
	switch {
	case offer.CanReply:
		params["reply_markup"] = map[string]any{"force_reply": true, "input_field_placeholder": "Your answer"}
	case len(offer.Buttons) > 0:
		params["reply_markup"] = b.keyboard(m, offer.Buttons)
	}
	for _, to := range b.cfg.Chats {
		params["chat_id"] = to
		var sent chatMessage
		if err := b.api.call(ctx, "sendMessage", 0, params, &sent); err != nil {
			return err
		}
		place := store.ChatMessage{Chat: strconv.FormatInt(sent.Chat.ID, 10), Message: strconv.FormatInt(sent.ID, 10)}
		if err := b.AddMessage(ctx, place, m, b.update); err != nil {
			return err
		}
	}
	return nil
}

// SendText sends a message that is not about a question.
func (b *Bot) SendText(ctx context.Context, text string) error {
	for _, to := range b.cfg.Chats {
		if err := b.api.call(ctx, "sendMessage", 0, map[string]any{
			"chat_id": to, "text": text, "disable_notification": b.cfg.Silent, "link_preview_options": map[string]bool{"is_disabled": true},
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// keyboard returns the buttons: two answers in one row, choices in a row each.
func (b *Bot) keyboard(m *chat.Message, offered []buttons.Button) keyboard {
	var k keyboard
	for _, button := range offered {
		row := key{button.Label, b.Data(m, button.Answer)}
		if button.Answer < buttons.FirstChoice && len(k.Rows) > 0 {
			k.Rows[0] = append(k.Rows[0], row)
		} else {
			k.Rows = append(k.Rows, []key{row})
		}
	}
	return k
}

// update replaces a message by the question and its outcome. That removes its buttons.
func (b *Bot) update(ctx context.Context, m store.ChatMessage, o chat.Outcome) error {
	before, after := "", o.Result
	if o.Question != "" {
		before, after = o.Headline+"\n\n", "\n\n"+o.Result
	}
	message, _ := strconv.ParseInt(m.Message, 10, 64)
	params := map[string]any{
		"chat_id": m.Chat, "message_id": message, "text": before + o.Question + after,
		"link_preview_options": map[string]bool{"is_disabled": true},
	}
	if o.Question != "" {
		params["entities"] = []entity{{"pre", buttons.Length16(before), buttons.Length16(o.Question)}}
	}
	return b.api.call(ctx, "editMessageText", 0, params, nil)
}
