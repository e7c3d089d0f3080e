package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	queryNotificationCursor   = `SELECT cursor FROM notifier`
	queryAskedSince           = `SELECT seq, seq FROM questions WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	queryChangedSince         = `SELECT seq, question FROM changes WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	queryNotificationProgress = `SELECT reminders, escalated FROM noticed WHERE question = ?`
	queryBecameGroupLeader    = `SELECT same_as = 0 AND joined > 0 AND NOT EXISTS (SELECT 1 FROM notices n WHERE n.question = q.seq)
		FROM questions q WHERE q.seq = ?`
	queryNotificationsOf  = notificationColumns + ` WHERE question = ? ORDER BY question`
	queryDueNotifications = notificationColumns + ` WHERE state = 'queued' AND channel = ? AND due <= ? ORDER BY due LIMIT ?`
	queryNextNotification = `SELECT min(due) FROM notices WHERE state = 'queued' AND channel = ?`
	queryLastSent         = `SELECT max(at) FROM notices WHERE state = 'sent' AND channel = ? AND person = ?`
	queryClaimsInFlight   = `SELECT count(*) FROM notices WHERE state = 'queued' AND channel = ? AND due > ? AND leased > ? AND person = ? AND id <> ?`

	queryPendingNotified = `SELECT q.seq FROM questions q WHERE q.inbox = 'pending'
		AND EXISTS (SELECT 1 FROM notices n WHERE n.question = q.seq) ORDER BY q.seq`

	notificationColumns = `SELECT id, question, channel, name, person, kind, n, state, why, error, attempts, due, made_at, at FROM notices`
)

func (s *engine) NotificationCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryNotificationCursor)
}

func (s *engine) SetNotificationCursor(ctx context.Context, cursor int64) error {
	return s.writer.exec(ctx, false, `UPDATE notifier SET cursor = max(cursor, ?)`, cursor)
}

func (s *engine) QuestionsSince(ctx context.Context, seq int64, limit int) (ids []schema.EventID, upTo int64, err error) {
	head := s.head.Load()
	var lists [2][]kit.QuestionChange
	for i, query := range []string{queryAskedSince, queryChangedSince} {
		rows, err := s.readers.query(ctx, query, seq, head, limit)
		if lists[i], err = collect(rows, err,
			func(rows *sql.Rows, c *kit.QuestionChange) error { return rows.Scan(&c.Seq, &c.Question) }); err != nil {
			return nil, seq, err
		}
	}
	ids, upTo = kit.ChangedQuestions(head, limit, lists[:]...)
	return ids, upTo, nil
}

func (s *engine) NotificationProgress(ctx context.Context, id schema.EventID) (n store.NotificationProgress, err error) {
	err = ignoreNoRows(s.readers.getByKey(ctx, []any{&n.Reminders, &n.Escalated}, queryNotificationProgress, id))
	return n, err
}

func (s *engine) BecameGroupLeader(ctx context.Context, id schema.EventID) (leads bool, err error) {
	err = s.readers.get(ctx, []any{&leads}, queryBecameGroupLeader, id)
	return leads, err
}

func (s *engine) AddNotifications(
	ctx context.Context, id schema.EventID, notifications []store.Notification, done *store.NotificationProgress,
) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		for i := range notifications {
			if err := t.addNotification(id, &notifications[i]); err != nil {
				return err
			}
		}
		if done == nil {
			return nil
		}
		_, err := t.exec(`INSERT INTO noticed (question, reminders, escalated) VALUES (?, ?, ?)
			ON CONFLICT (question) DO UPDATE SET reminders = excluded.reminders, escalated = excluded.escalated`,
			id, done.Reminders, done.Escalated)
		return err
	}})
}

func (t *tx) addNotification(id schema.EventID, n *store.Notification) error {
	now := kit.Millis(t.now)
	_, err := t.exec(`INSERT INTO notices (question, channel, name, person, kind, n, state, why, error, attempts, due, leased, made_at, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, 0, ?, ?)
		ON CONFLICT (question, channel, person, kind, n) DO NOTHING`,
		id, n.Channel, n.Notification.Channel, n.Person, n.Kind, n.ReminderNumber, n.State, n.Why, kit.Millis(n.Due), now, now)
	return err
}

func (s *engine) NotificationsOf(ctx context.Context, id schema.EventID) ([]store.Notification, error) {
	rows, err := s.readers.query(ctx, queryNotificationsOf, id)
	return scanNotifications(rows, err)
}

func (s *engine) DueNotifications(
	ctx context.Context, channel int64, now time.Time, n int,
) (due []store.Notification, next time.Time, err error) {
	rows, err := s.readers.query(ctx, queryDueNotifications, channel, kit.Millis(now), n)
	if due, err = scanNotifications(rows, err); err != nil {
		return nil, time.Time{}, err
	}
	next, err = s.readTime(ctx, queryNextNotification, channel)
	return due, next, err
}

func scanNotifications(rows *sql.Rows, err error) ([]store.Notification, error) {
	return collect(rows, err, func(rows *sql.Rows, n *store.Notification) error {
		return rows.Scan(&n.ID, &n.Question, &n.Channel, &n.Notification.Channel, &n.Person,
			&n.Kind, &n.ReminderNumber, &n.State, &n.Why, &n.Error, &n.Attempts,
			kit.ScanTime(&n.Due), kit.ScanTime(&n.CreatedAt), &n.At)
	})
}

func (s *engine) ClaimNotification(ctx context.Context, n *store.Notification, until, since time.Time) (claim store.Claim, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) (err error) {
		claim, err = t.claimNotification(n, until, since)
		return err
	}})
	return claim, err
}

func (t *tx) claimNotification(n *store.Notification, until, since time.Time) (store.Claim, error) {
	if !since.IsZero() {
		var last sql.NullInt64
		var inFlight int64
		if err := t.get([]any{&last}, queryLastSent, n.Channel, n.Person); err != nil {
			return store.ClaimLost, err
		}
		now := kit.Millis(t.now)
		// A send time in the future was recorded before the clock was corrected.
		if last.Valid && last.Int64 > kit.Millis(since) && last.Int64 <= now {
			return store.ClaimCooldown, nil
		}
		if err := t.get([]any{&inFlight}, queryClaimsInFlight, n.Channel, now, now, n.Person, n.ID); err != nil {
			return store.ClaimLost, err
		}
		if inFlight > 0 {
			return store.ClaimInFlight, nil
		}
	}
	changed, err := t.exec(`UPDATE notices SET due = ?1, leased = ?1 WHERE id = ?2 AND state = 'queued' AND due = ?3`,
		kit.Millis(until), n.ID, kit.Millis(n.Due))
	if err != nil || changed == 0 {
		return store.ClaimLost, err
	}
	return store.Claimed, nil
}

func (s *engine) SetNotification(ctx context.Context, n *store.Notification) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE notices SET state = ?, why = ?, error = ?, attempts = ?, due = ?, leased = 0, at = ?
			WHERE id = ? AND (state = 'queued' OR ? = 'sent')`,
			n.State, n.Why, n.Error, n.Attempts, kit.Millis(n.Due), kit.Millis(t.now), n.ID, n.State)
		return err
	}})
}

func (s *engine) SuppressNotifications(ctx context.Context, id schema.EventID, why string) (found bool, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) error {
		n, err := t.exec(`UPDATE notices SET state = 'suppressed', why = ?, leased = 0, at = ?
			WHERE question = ? AND state = 'queued'`, why, kit.Millis(t.now), id)
		found = n > 0
		return err
	}})
	return found, err
}

func (s *engine) ReleaseNotificationLeases(ctx context.Context) ([]schema.EventID, error) {
	err := s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE notices SET due = ?, leased = 0 WHERE state = 'queued' AND leased > 0`, kit.Millis(t.now))
		return err
	}})
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.query(ctx, queryPendingNotified)
	return scanIDs(rows, err)
}

func (s *engine) NotificationSettings(ctx context.Context, person string) (settings schema.NotificationSettings, err error) {
	var raw []byte
	err = s.readers.get(ctx, []any{&raw}, `SELECT settings FROM notice_settings WHERE person = ?`, person)
	if errors.Is(err, sql.ErrNoRows) {
		return settings, nil
	}
	if err != nil {
		return settings, err
	}
	return settings, json.Unmarshal(raw, &settings)
}

func (s *engine) SetNotificationSettings(ctx context.Context, person string, settings schema.NotificationSettings) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return s.writer.exec(ctx, false, `INSERT INTO notice_settings (person, settings) VALUES (?, ?)
		ON CONFLICT (person) DO UPDATE SET settings = excluded.settings`, person, raw)
}
