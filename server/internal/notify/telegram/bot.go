// Package telegram asks questions in Telegram chats and takes the answers: by buttons, and by replies
// to questions for a text. It connects to Telegram only; Telegram does not connect to the hub.
//
// Every update is handled before its offset is stored. After a stop of the hub it can be delivered
// again; it then finds the question settled or the button used.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// bot is one bot of Telegram, which belongs to one channel. It implements chat.Service.
type bot struct {
	*chat.Desk
	Address
	api client
}

// New returns the bot of a channel. It connects when Run or Send is called.
func New(cfg chat.Config, a Address) *chat.Bot {
	base := cmp.Or(cfg.API, "https://api.telegram.org")
	if a.Server != nil {
		base = a.Server.String()
	}
	desk := chat.NewDesk(Via, cfg)
	return &chat.Bot{Desk: desk, Service: &bot{Desk: desk, Address: a, api: client{cfg.HTTP, base, a.Token}}}
}

// Run takes answers and updates messages until ctx ends.
func (b *bot) Run(ctx context.Context) error {
	return b.RunBot(ctx, chat.Reader{Read: b.poll, StopReason: stopReason}, b.update)
}

// stopReason returns why a bot can't read updates any more; empty: a repetition may succeed.
func stopReason(err error) string {
	var refused *chat.RefusalError
	if !errors.As(err, &refused) {
		return ""
	}
	switch refused.Code {
	case http.StatusConflict:
		return "Another program reads the messages of this bot. Give the hub a bot for itself, then add the channel again."
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return "Telegram does not accept the token of this bot. Add the channel again with a valid token."
	default:
		return ""
	}
}

// poll reads the next updates and handles them.
func (b *bot) poll(ctx context.Context) (accepted bool, err error) {
	err = b.handleUpdates(ctx)
	return err == nil, err
}

func (b *bot) handleUpdates(ctx context.Context) error {
	if b.Name() == "" {
		var me user
		if err := b.api.call(ctx, "getMe", 0, struct{}{}, &me); err != nil {
			return err
		}
		b.SetName(me.Username)
	}
	offset, err := b.Store.ChatOffset(ctx, b.Channel)
	if err != nil {
		return err
	}
	var updates []update
	if err := b.api.call(ctx, "getUpdates", pollWait, map[string]any{
		"offset": offset, "timeout": int(pollWait.Seconds()), "allowed_updates": []string{"message", "callback_query"},
	}, &updates); err != nil {
		return err
	}
	for i := range updates {
		if updates[i].ID < offset {
			continue
		}
		if err := b.handle(ctx, &updates[i]); err != nil {
			return err // the update is read again
		}
		offset = updates[i].ID + 1
		if err := b.Store.SetChatOffset(ctx, b.Channel, offset); err != nil {
			return err
		}
	}
	return nil
}

// handle handles an update. It fails only if the update has to be handled again.
func (b *bot) handle(ctx context.Context, u *update) error {
	switch {
	case u.Callback != nil:
		text, err := b.Press(ctx, u.Callback.Data, u.Callback.From.account())
		if err == nil {
			b.reply(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": u.Callback.ID, "text": text, "show_alert": len(text) > 60})
		}
		return err
	case u.Message == nil || u.Message.From == nil || u.Message.From.IsBot:
		return nil
	case strings.HasPrefix(u.Message.Text, "/start"):
		text, err := b.link(ctx, u.Message)
		if err == nil && text != "" {
			b.say(ctx, u.Message, text)
		}
		return err
	case u.Message.ReplyTo != nil:
		to := store.ChatMessage{Chat: strconv.FormatInt(u.Message.Chat.ID, 10), Message: strconv.FormatInt(u.Message.ReplyTo.ID, 10)}
		text, err := b.Reply(ctx, to, u.Message.From.account(), u.Message.Text)
		if err == nil && text != "" {
			b.say(ctx, u.Message, text)
		}
		return err
	default:
		return nil
	}
}

// say replies to a message.
func (b *bot) say(ctx context.Context, to *chatMessage, text string) {
	params := message(text)
	params["chat_id"], params["reply_parameters"] = to.Chat.ID, map[string]any{"message_id": to.ID, "allow_sending_without_reply": true}
	b.reply(ctx, "sendMessage", params)
}

// message returns the parameters of a message without a preview of its link.
func message(text string) map[string]any {
	return map[string]any{"text": text, "link_preview_options": map[string]bool{"is_disabled": true}}
}

// question is message with the text of a question between two others, which shows no links.
func question(before, text, after string) map[string]any {
	params := message(before + text + after)
	params["entities"] = []entity{{"pre", buttons.Length16(before), buttons.Length16(text)}}
	return params
}

// reply calls a method whose failure loses only a confirmation: the decision is stored.
func (b *bot) reply(ctx context.Context, method string, params map[string]any) {
	if err := b.api.call(ctx, method, 0, params, nil); err != nil && ctx.Err() == nil {
		b.Log.Warn("a confirmation was not sent", "channel", b.Channel, "err", err)
	}
}

// link links the account of a message "/start CODE". In groups the bot ignores it, because everyone
// there can read the code.
func (b *bot) link(ctx context.Context, m *chatMessage) (reply string, err error) {
	text := strings.TrimSpace(strings.TrimPrefix(m.Text, "/start"))
	if m.Chat.Type != "private" {
		return "", nil
	}
	if text == "" {
		return "This bot belongs to a Hookback hub. To link this account, open Settings, Preferences in the dashboard and choose Link a chat account.", nil
	}
	name := m.From.FirstName
	if m.From.Username != "" {
		name = "@" + m.From.Username
	}
	return b.Link(ctx, text, m.From.account(), name)
}

// Send sends a message to the chats of the channel.
func (b *bot) Send(ctx context.Context, m *chat.Message) error {
	offer := b.Offer(m.Question)
	params := question(m.Headline+"\n\n", offer.Text, "\n\n"+m.Footer)
	if offer.Refused != "" {
		params = message(m.Plain + "\n\nAnswer in the dashboard: " + offer.Refused + ".")
	}
	params["disable_notification"] = b.Silent
	switch {
	case offer.CanReply:
		params["reply_markup"] = map[string]any{"force_reply": true, "input_field_placeholder": "Your answer"}
	case len(offer.Buttons) > 0:
		params["reply_markup"] = b.keyboard(m, offer.Buttons)
	}
	for _, to := range b.Chats {
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
func (b *bot) SendText(ctx context.Context, text string) error {
	params := message(text)
	params["disable_notification"] = b.Silent
	for _, to := range b.Chats {
		params["chat_id"] = to
		if err := b.api.call(ctx, "sendMessage", 0, params, nil); err != nil {
			return err
		}
	}
	return nil
}

// keyboard returns the buttons: two answers in one row, choices in a row each.
func (b *bot) keyboard(m *chat.Message, offered []buttons.Button) keyboard {
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
func (b *bot) update(ctx context.Context, m store.ChatMessage, o chat.Outcome) error {
	params := message(o.Result)
	if o.Question != "" {
		params = question(o.Headline+"\n\n", o.Question, "\n\n"+o.Result)
	}
	params["chat_id"] = m.Chat
	params["message_id"], _ = strconv.ParseInt(m.Message, 10, 64)
	return b.api.call(ctx, "editMessageText", 0, params, nil)
}
