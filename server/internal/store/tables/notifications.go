package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var notices = newTable("notices", "id", "id, question, channel, name, person, kind, n, state, why, error, attempts, due, made_at, at",
	func(n *store.Notification) []any {
		return []any{
			&n.ID, &n.Question, &n.Channel, &n.Notification.Channel, &n.Person, &n.Kind, &n.ReminderNumber, &n.State, &n.Why, &n.Error,
			&n.Attempts, ScanTime(&n.Due), ScanTime(&n.CreatedAt), &n.At,
		}
	})

func (t *Tables) NotificationCursor(ctx context.Context) (int64, error) {
	return read[int64](ctx, t, `SELECT cursor FROM notifier`)
}

func (t *Tables) SetNotificationCursor(ctx context.Context, cursor int64) error {
	return t.exec(ctx, Plain, `UPDATE notifier SET cursor = greatest(cursor, $1)`, cursor)
}

// questionChange is a row of the log that changes a question, or stores it.
type questionChange struct {
	seq      int64
	question schema.EventID
}

func (t *Tables) QuestionsSince(ctx context.Context, seq int64, limit int) (ids []schema.EventID, upTo int64, err error) {
	head := t.Head()
	var all []questionChange
	upTo = head
	for _, query := range []string{
		`SELECT seq, seq FROM questions WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`,
		`SELECT seq, question FROM changes WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`,
	} {
		list, err := collect(ctx, t, func(c *questionChange) []any { return []any{&c.seq, &c.question} }, query, seq, head, limit)
		if err != nil {
			return nil, seq, err
		}
		if len(list) == limit {
			upTo = min(upTo, list[limit-1].seq)
		}
		all = append(all, list...)
	}
	seen := map[schema.EventID]bool{}
	for _, c := range all {
		if c.seq <= upTo && !seen[c.question] {
			seen[c.question] = true
			ids = append(ids, c.question)
		}
	}
	return ids, upTo, nil
}

func (t *Tables) NotificationProgress(ctx context.Context, id schema.EventID) (n store.NotificationProgress, err error) {
	_, err = t.ReadOne(ctx, []any{&n.Reminders, &n.Escalated}, `SELECT reminders, escalated FROM noticed WHERE question = $1`, id)
	return n, err
}

func (t *Tables) BecameGroupLeader(ctx context.Context, id schema.EventID) (leads bool, err error) {
	found, err := t.ReadOne(ctx, []any{&leads}, `SELECT same_as = 0 AND joined > 0 AND NOT EXISTS (SELECT 1 FROM notices n WHERE n.question = q.seq)
		FROM questions q WHERE q.seq = $1`, id)
	return leads, orNotFound(found, err)
}

func (t *Tables) AddNotifications(
	ctx context.Context, id schema.EventID, notifications []store.Notification, done *store.NotificationProgress,
) error {
	return t.Write(ctx, Plain, func(w *Work) error {
		now := Millis(w.Now)
		for i := range notifications {
			n := &notifications[i]
			err := w.Exec(`INSERT INTO notices (question, channel, name, person, kind, n, state, why, error, attempts, due, leased, made_at, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', 0, $9, 0, $10, $10) ON CONFLICT (question, channel, person, kind, n) DO NOTHING`,
				id, n.Channel, n.Notification.Channel, n.Person, n.Kind, n.ReminderNumber, n.State, n.Why, Millis(n.Due), now)
			if err != nil {
				return err
			}
		}
		if done == nil {
			return nil
		}
		return w.Exec(`INSERT INTO noticed (question, reminders, escalated) VALUES ($1, $2, $3)
			ON CONFLICT (question) DO UPDATE SET reminders = excluded.reminders, escalated = excluded.escalated`, id, done.Reminders, done.Escalated)
	})
}

func (t *Tables) NotificationsOf(ctx context.Context, id schema.EventID) ([]store.Notification, error) {
	return notices.list(ctx, t, `WHERE question = $1 ORDER BY question`, id)
}

func (t *Tables) DueNotifications(
	ctx context.Context, channel int64, now time.Time, n int,
) (due []store.Notification, next time.Time, err error) {
	due, err = notices.list(ctx, t, `WHERE state = 'queued' AND channel = $1 AND due <= $2 ORDER BY due LIMIT $3`, channel, Millis(now), n)
	if err == nil {
		next, err = t.readTime(ctx, `SELECT min(due) FROM notices WHERE state = 'queued' AND channel = $1`, channel)
	}
	return due, next, err
}

func (t *Tables) ClaimNotification(ctx context.Context, n *store.Notification, until, since time.Time) (store.Claim, error) {
	return write(ctx, t, Plain, func(w *Work) (store.Claim, error) { return w.claimNotification(n, until, since) })
}

func (w *Work) claimNotification(n *store.Notification, until, since time.Time) (store.Claim, error) {
	if !since.IsZero() {
		last, err := get[int64](w, `SELECT max(at) FROM notices WHERE state = 'sent' AND channel = $1 AND person = $2`, n.Channel, n.Person)
		if err != nil {
			return store.ClaimLost, err
		}
		now := Millis(w.Now)
		// A send time in the future was recorded before the clock was corrected.
		if last > Millis(since) && last <= now {
			return store.ClaimCooldown, nil
		}
		inFlight, err := get[int64](w, `SELECT count(*) FROM notices WHERE state = 'queued' AND channel = $1 AND due > $2 AND leased > $2
			AND person = $3 AND id <> $4`, n.Channel, now, n.Person, n.ID)
		if err != nil {
			return store.ClaimLost, err
		}
		if inFlight > 0 {
			return store.ClaimInFlight, nil
		}
	}
	changed, err := w.ExecCount(`UPDATE notices SET due = $1, leased = $1 WHERE id = $2 AND state = 'queued' AND due = $3`,
		Millis(until), n.ID, Millis(n.Due))
	if err != nil || changed == 0 {
		return store.ClaimLost, err
	}
	return store.Claimed, nil
}

func (t *Tables) SetNotification(ctx context.Context, n *store.Notification) error {
	return t.Write(ctx, Plain, func(w *Work) error {
		return w.Exec(`UPDATE notices SET state = $1, why = $2, error = $3, attempts = $4, due = $5, leased = 0, at = $6
			WHERE id = $7 AND (state = 'queued' OR $8 = 'sent')`,
			n.State, n.Why, n.Error, n.Attempts, Millis(n.Due), Millis(w.Now), n.ID, n.State)
	})
}

func (t *Tables) SuppressNotifications(ctx context.Context, id schema.EventID, why string) (bool, error) {
	return write(ctx, t, Plain, func(w *Work) (bool, error) {
		n, err := w.ExecCount(`UPDATE notices SET state = 'suppressed', why = $1, leased = 0, at = $2
			WHERE question = $3 AND state = 'queued'`, why, Millis(w.Now), id)
		return n > 0, err
	})
}

func (t *Tables) ReleaseNotificationLeases(ctx context.Context) ([]schema.EventID, error) {
	err := t.Write(ctx, Plain, func(w *Work) error {
		return w.Exec(`UPDATE notices SET due = $1, leased = 0 WHERE state = 'queued' AND leased > 0`, Millis(w.Now))
	})
	if err != nil {
		return nil, err
	}
	return collect(ctx, t, column[schema.EventID], `SELECT q.seq FROM questions q WHERE q.inbox = 'pending'
		AND EXISTS (SELECT 1 FROM notices n WHERE n.question = q.seq) ORDER BY q.seq`)
}

func (t *Tables) NotificationSettings(ctx context.Context, person string) (s schema.NotificationSettings, err error) {
	_, err = t.ReadOne(ctx, []any{JSONBytes(&s)}, `SELECT settings FROM notice_settings WHERE person = $1`, person)
	return s, err
}

func (t *Tables) SetNotificationSettings(ctx context.Context, person string, s schema.NotificationSettings) error {
	return t.exec(ctx, Policy, `INSERT INTO notice_settings (person, settings) VALUES ($1, $2)
		ON CONFLICT (person) DO UPDATE SET settings = excluded.settings`, person, JSONBytes(s))
}
