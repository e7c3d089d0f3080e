package telegram

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// Message is a notification about a question. Its texts contain nothing of the agent but sanitized
// names.
type Message struct {
	Notice   int64
	Question *buttons.Question
	Headline string
	Footer   string // risk, deadline and link
	// Plain is the message if it may offer no answer; with a shortened question, without links of
	// the agent.
	Plain string
}

// IsPermanent reports whether a failed Send would fail again.
func IsPermanent(err error) bool { return isPermanent(err) }

// Send sends a message to the chats of the channel.
func (b *Bot) Send(ctx context.Context, m *Message) error {
	q := m.Question
	offer := buttons.OfferFor(q, b.limits())
	if b.Stopped() != "" {
		offer = buttons.Offer{Refused: "the hub does not read answers from this bot"}
	}
	params := map[string]any{
		"text": m.Plain, "disable_notification": b.Silent, "link_preview_options": map[string]bool{"is_disabled": true},
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
		params["reply_markup"] = b.keyboard(m.Notice, q, offer.Buttons)
	}
	for _, to := range b.Chats {
		params["chat_id"] = to
		var sent chatMessage
		if err := b.api.call(ctx, "sendMessage", 0, params, &sent); err != nil {
			return err
		}
		row := store.ChatMessage{
			Channel: b.Channel, Chat: strconv.FormatInt(sent.Chat.ID, 10), Message: strconv.FormatInt(sent.ID, 10),
			Notice: m.Notice, Question: q.ID, Revision: q.Status.Revision,
		}
		if err := b.Store.AddChatMessage(context.WithoutCancel(ctx), row); err != nil {
			return err
		}
		b.settleLate(ctx, row)
	}
	return nil
}

// SendText sends a message that is not about a question.
func (b *Bot) SendText(ctx context.Context, text string) error {
	for _, to := range b.Chats {
		if err := b.api.call(ctx, "sendMessage", 0, map[string]any{
			"chat_id": to, "text": text, "disable_notification": b.Silent, "link_preview_options": map[string]bool{"is_disabled": true},
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// settleLate updates a message whose question was settled while the message was sent, and which
// settleMessages therefore may have missed.
func (b *Bot) settleLate(ctx context.Context, m store.ChatMessage) {
	q, err := b.read(ctx, m.Question)
	if err == nil && (q == nil || !q.Status.IsSettled()) {
		return
	}
	if err == nil {
		err = b.showOutcome(ctx, m, q)
	}
	if err == nil {
		err = b.Store.SettleChatMessage(ctx, m)
	}
	if err != nil && ctx.Err() == nil {
		b.Log.Warn("a message still shows its buttons", "channel", b.Channel, "err", err)
	}
}

// keyboard returns the buttons: two answers in one row, choices in a row each.
func (b *Bot) keyboard(notice int64, q *buttons.Question, offered []buttons.Button) keyboard {
	var k keyboard
	for _, button := range offered {
		row := key{button.Label, b.signer.Data(buttons.Press{Notice: notice, Question: q.ID, Revision: q.Status.Revision, Answer: button.Answer}, q.UID)}
		if button.Answer < buttons.FirstChoice && len(k.Rows) > 0 {
			k.Rows[0] = append(k.Rows[0], row)
		} else {
			k.Rows = append(k.Rows, []key{row})
		}
	}
	return k
}

// maxSettled is the number of messages that are updated before facts are read again.
const maxSettled = 64

// settleMessages updates the messages of settled questions until ctx ends. The rows of messages are an
// outbox: after a failure or a restart it continues with those that still offer an answer.
func (b *Bot) settleMessages(ctx context.Context) error {
	var retry <-chan time.Time
	failures := 0
	return b.Feed.Follow(ctx, feed.Changed, func(batch *feed.Batch) error {
		if retry != nil && !batch.Fired {
			batch.Timer = retry
			return nil
		}
		retry = nil
		more, err := b.settleSome(ctx)
		switch {
		case err != nil:
			failures++
			delay := backoff(failures)
			var refused *apiError
			if errors.As(err, &refused) && refused.RetryAfter > 0 {
				delay = refused.RetryAfter
			}
			b.Log.Warn("a message still shows its buttons", "channel", b.Channel, "retry_in", delay, "err", err)
			retry = time.After(delay)
			batch.Timer = retry
		case more:
			batch.Timer = time.After(0)
		default:
			failures = 0
		}
		return nil
	})
}

func (b *Bot) settleSome(ctx context.Context) (more bool, err error) {
	list, err := b.Store.MessagesToSettle(ctx, b.Channel, maxSettled)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		q, err := b.read(ctx, m.Question)
		if err != nil {
			return false, err
		}
		if q != nil {
			if err := b.showOutcome(ctx, m, q); err != nil && !isPermanent(err) {
				return false, err
			}
		}
		if err := b.Store.SettleChatMessage(ctx, m); err != nil {
			return false, err
		}
	}
	return len(list) == maxSettled, nil
}

// maxSettledChars limits the question in a message that shows its outcome.
const maxSettledChars = 600

// showOutcome replaces a message by the question and its outcome. That removes its buttons.
func (b *Bot) showOutcome(ctx context.Context, m store.ChatMessage, q *buttons.Question) error {
	text := q.Ask.Question
	if runes := []rune(text); len(runes) > maxSettledChars {
		text = string(runes[:maxSettledChars-1]) + "…"
	}
	before := "Request of " + label(&user{FirstName: q.App}) + "\n\n"
	after := "\n\nThe request was " + buttons.Outcome(&q.Status) + "."
	if b.IsBrief {
		before, text, after = "", "", after[2:]
	}
	params := map[string]any{
		"chat_id": m.Chat, "message_id": number(m.Message), "text": before + text + after,
		"link_preview_options": map[string]bool{"is_disabled": true},
	}
	if text != "" {
		params["entities"] = []entity{{"pre", buttons.Length16(before), buttons.Length16(text)}}
	}
	return b.api.call(ctx, "editMessageText", 0, params, nil)
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
