package chat

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// Outcome is the text of a message after its question was settled.
type Outcome struct {
	Headline string // names the agent; empty: the message shows no details
	Question string // buttons.Text, shortened; empty: the message shows no details
	Result   string // one sentence
}

// Update replaces the text of a message by an outcome, without buttons.
type Update func(ctx context.Context, m store.ChatMessage, o Outcome) error

// maxSettledChars limits the text of a question in a message that shows its outcome.
const maxSettledChars = 600

func (d *Desk) outcome(q *buttons.Question) Outcome {
	o := Outcome{Result: "The request was " + buttons.Outcome(&q.Status) + "."}
	if d.IsBrief {
		return o
	}
	about := buttons.TextOf(q)
	o.Headline, o.Question = "Request of "+Label(q.App), about.String()
	if utf8.RuneCountInString(o.Question) > maxSettledChars {
		o.Question = about.Short()
	}
	o.Question = buttons.Truncate(o.Question, maxSettledChars)
	return o
}

// AddMessage records a message that was sent about a question. It updates one whose question was
// settled while the message was sent, and which settleMessages therefore may have missed.
func (d *Desk) AddMessage(ctx context.Context, place store.ChatMessage, m *Message, update Update) error {
	place.Channel, place.Notice, place.Question, place.Revision = d.Channel, m.Notice, m.Question.ID, m.Question.Status.Revision
	if err := d.Store.AddChatMessage(context.WithoutCancel(ctx), place); err != nil {
		return err
	}
	q, err := d.read(ctx, place.Question)
	if err == nil && (q == nil || !q.Status.IsSettled()) {
		return nil
	}
	if err == nil {
		err = update(ctx, place, d.outcome(q))
	}
	if err == nil {
		err = d.Store.SettleChatMessage(ctx, place)
	}
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("a message still shows its buttons", "via", d.via, "channel", d.Channel, "err", err)
	}
	return nil
}

// maxSettled is the number of messages that are updated before facts are read again.
const maxSettled = 64

// settleMessages updates the messages of settled questions until ctx ends. The rows of messages are an
// outbox: after a failure or a restart it continues with the rows that still offer an answer.
func (d *Desk) settleMessages(ctx context.Context, update Update) error {
	var retry <-chan time.Time
	failures := 0
	err := d.Feed.Follow(ctx, feed.Changed, func(batch *feed.Batch) error {
		if retry != nil && !batch.Fired {
			batch.Timer = retry
			return nil
		}
		retry = nil
		more, err := d.settleSome(ctx, update)
		switch {
		case err != nil:
			failures++
			delay := RetryDelay(err, failures)
			d.Log.Warn("a message still shows its buttons", "via", d.via, "channel", d.Channel, "retry_in", delay, "err", err)
			retry = time.After(delay)
			batch.Timer = retry
		case more:
			batch.Timer = time.After(0)
		default:
			failures = 0
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it ended as asked
	}
	return err
}

func (d *Desk) settleSome(ctx context.Context, update Update) (more bool, err error) {
	list, err := d.Store.MessagesToSettle(ctx, d.Channel, maxSettled)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		q, err := d.read(ctx, m.Question)
		if err != nil {
			return false, err
		}
		if q != nil {
			if err := update(ctx, m, d.outcome(q)); err != nil && !IsPermanent(err) {
				return false, err
			}
		}
		if err := d.Store.SettleChatMessage(ctx, m); err != nil {
			return false, err
		}
	}
	return len(list) == maxSettled, nil
}
