package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

// Notification is a message about a question as it is kept.
type Notification struct {
	ID       int64
	Question schema.EventID
	Channel  int64 // 0: Web Push
	N        int   // of the reminder
	MadeAt   time.Time
	Due      time.Time // of the next attempt, while it is queued
	schema.Notification
}

// NotificationProgress is what of a question has been made notices of, beside that it was asked.
type NotificationProgress struct {
	Reminders int
	Escalated bool
}

const (
	queryNotificationCursor   = `SELECT cursor FROM notifier WHERE stream_id = 1`
	queryAskedSince           = `SELECT seq, seq FROM questions WHERE stream_id = 1 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	queryChangedSince         = `SELECT seq, question FROM changes WHERE stream_id = 1 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	queryNotificationProgress = `SELECT reminders, escalated FROM noticed WHERE stream_id = 1 AND question = ?`
	queryBecameGroupLeader    = `SELECT same_as = 0 AND joined > 0 AND NOT EXISTS (SELECT 1 FROM notices n WHERE n.stream_id = q.stream_id AND n.question = q.seq)
		FROM questions q WHERE q.stream_id = 1 AND q.seq = ?`
	queryNotificationsOf  = notificationColumns + ` WHERE stream_id = 1 AND question = ? ORDER BY question`
	queryDueNotifications = notificationColumns + ` WHERE stream_id = 1 AND state = 'queued' AND channel = ? AND due <= ? ORDER BY due LIMIT ?`
	queryNextNotification = `SELECT min(due) FROM notices WHERE stream_id = 1 AND state = 'queued' AND channel = ?`
	queryLastSent         = `SELECT max(at) FROM notices WHERE stream_id = 1 AND state = 'sent' AND channel = ? AND person = ?`
	queryClaimsInFlight   = `SELECT count(*) FROM notices WHERE stream_id = 1 AND state = 'queued' AND channel = ? AND due > ? AND leased > ? AND person = ? AND id <> ?`

	queryPendingNotified = `SELECT q.seq FROM questions q WHERE q.stream_id = 1 AND q.state = 'pending'
		AND EXISTS (SELECT 1 FROM notices n WHERE n.stream_id = 1 AND n.question = q.seq) ORDER BY q.seq`

	notificationColumns = `SELECT id, question, channel, name, person, kind, n, state, why, error, attempts, due, made_at, at FROM notices`
)

// NotificationCursor is how far the notices have come in the log.
func (s *Store) NotificationCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryNotificationCursor)
}

// SetNotificationCursor notes that everything up to there has been made notices of.
func (s *Store) SetNotificationCursor(ctx context.Context, cursor int64) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE notifier SET cursor = max(cursor, ?) WHERE stream_id = 1`, cursor)
		return err
	}})
}

// QuestionsSince names the questions that were asked or changed behind seq, each
// once, and up to where that holds; it steps over plain events without reading them,
// and over what retention removed.
func (s *Store) QuestionsSince(ctx context.Context, seq int64, limit int) (ids []schema.EventID, upTo int64, err error) {
	head := s.head.Load()
	upTo = head
	type touch struct{ seq, question int64 }
	var found []touch
	for _, query := range []string{queryAskedSince, queryChangedSince} {
		rows, err := s.readers.query(ctx, query, seq, head, limit)
		if err != nil {
			return nil, seq, err
		}
		n := 0
		for rows.Next() {
			var t touch
			if err := rows.Scan(&t.seq, &t.question); err != nil {
				_ = rows.Close()
				return nil, seq, err
			}
			found, n = append(found, t), n+1
		}
		err = errors.Join(rows.Err(), rows.Close())
		if err != nil {
			return nil, seq, err
		}
		if n == limit {
			upTo = min(upTo, found[len(found)-1].seq)
		}
	}
	seen := map[int64]bool{}
	for _, t := range found {
		if t.seq <= upTo && !seen[t.question] {
			seen[t.question] = true
			ids = append(ids, schema.EventID(t.question))
		}
	}
	return ids, upTo, nil
}

// NotificationProgress is what of a question has been made notices of.
func (s *Store) NotificationProgress(ctx context.Context, id schema.EventID) (n NotificationProgress, err error) {
	err = s.readers.get(ctx, []any{&n.Reminders, &n.Escalated}, queryNotificationProgress, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

// BecameGroupLeader reports whether a question that another one spoke for speaks for itself by
// now, and nobody has been told of it.
func (s *Store) BecameGroupLeader(ctx context.Context, id schema.EventID) (alone bool, err error) {
	err = s.readers.get(ctx, []any{&alone}, queryBecameGroupLeader, id)
	return alone, err
}

// AddNotifications stores notices of a question; those that are there already stay as
// they are. done, when given, is noted in the same transaction.
func (s *Store) AddNotifications(ctx context.Context, id schema.EventID, notices []Notification, done *NotificationProgress) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		for i := range notices {
			if err := t.addNotification(id, &notices[i]); err != nil {
				return err
			}
		}
		if done == nil {
			return nil
		}
		_, err := t.exec(`INSERT INTO noticed (stream_id, question, reminders, escalated) VALUES (1, ?, ?, ?)
			ON CONFLICT (stream_id, question) DO UPDATE SET reminders = excluded.reminders, escalated = excluded.escalated`,
			id, done.Reminders, done.Escalated)
		return err
	}})
}

func (t *tx) addNotification(id schema.EventID, n *Notification) error {
	now := toMillis(t.now)
	_, err := t.exec(`INSERT INTO notices (stream_id, id, question, channel, name, person, kind, n, state, why, error, attempts, due, leased, made_at, at)
		SELECT 1, coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, 0, ?, ? FROM notices WHERE stream_id = 1
		ON CONFLICT (stream_id, question, channel, person, kind, n) DO NOTHING`,
		id, n.Channel, n.Notification.Channel, n.Person, n.Kind, n.N, n.State, n.Why, toMillis(n.Due), now, now)
	return err
}

// NotificationsOf are all notices of a question, in no order.
func (s *Store) NotificationsOf(ctx context.Context, id schema.EventID) ([]Notification, error) {
	rows, err := s.readers.query(ctx, queryNotificationsOf, id)
	return scanNotifications(rows, err)
}

// DueNotifications are up to n notices of a channel that are to be sent now, the longest due
// first, and when the next one is: zero when none is queued.
func (s *Store) DueNotifications(ctx context.Context, channel int64, now time.Time, n int) (due []Notification, next time.Time, err error) {
	rows, err := s.readers.query(ctx, queryDueNotifications, channel, toMillis(now), n)
	if due, err = scanNotifications(rows, err); err != nil {
		return nil, time.Time{}, err
	}
	next, err = s.readTime(ctx, queryNextNotification, channel)
	return due, next, err
}

func scanNotifications(rows *sql.Rows, err error) (notices []Notification, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n Notification
		var due, madeAt, at int64
		if err := rows.Scan(&n.ID, &n.Question, &n.Channel, &n.Notification.Channel, &n.Person, &n.Kind, &n.N, &n.State, &n.Why, &n.Error, &n.Attempts, &due, &madeAt, &at); err != nil {
			return nil, err
		}
		n.Due, n.MadeAt, n.At = fromMillis(due), fromMillis(madeAt), schema.Millis(at)
		notices = append(notices, n)
	}
	return notices, rows.Err()
}

// Claim is what came of ClaimNotification.
type Claim int

// What can come of it.
const (
	Claimed       Claim = iota // it is ours to send, until the given time
	ClaimLost                  // somebody had it, or it is not queued any more
	ClaimCooldown              // its person had one by this channel within the cooldown
	ClaimInFlight              // one to the same person by the same channel is under way
)

// ClaimNotification takes a queued notice to send it until the given time, when nothing was
// sent to its person by its channel after since; a zero since: whatever was sent.
// Both are one step, so that two notices can't slip through one cooldown.
func (s *Store) ClaimNotification(ctx context.Context, n *Notification, until, since time.Time) (claim Claim, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) (err error) {
		claim, err = t.claimNotification(n, until, since)
		return err
	}})
	return claim, err
}

func (t *tx) claimNotification(n *Notification, until, since time.Time) (Claim, error) {
	if !since.IsZero() {
		var last sql.NullInt64
		var underWay int64
		if err := t.get([]any{&last}, queryLastSent, n.Channel, n.Person); err != nil {
			return ClaimLost, err
		}
		now := toMillis(t.now)
		// What was sent in the future was sent before the clock was put right.
		if last.Valid && last.Int64 > toMillis(since) && last.Int64 <= now {
			return ClaimCooldown, nil
		}
		if err := t.get([]any{&underWay}, queryClaimsInFlight, n.Channel, now, now, n.Person, n.ID); err != nil {
			return ClaimLost, err
		}
		if underWay > 0 {
			return ClaimInFlight, nil
		}
	}
	changed, err := t.exec(`UPDATE notices SET due = ?1, leased = ?1 WHERE stream_id = 1 AND id = ?2 AND state = 'queued' AND due = ?3`,
		toMillis(until), n.ID, toMillis(n.Due))
	if err != nil || changed == 0 {
		return ClaimLost, err
	}
	return Claimed, nil
}

// SetNotification writes what became of a notice. One that is not queued any more stays as it
// is, unless it was sent after all.
func (s *Store) SetNotification(ctx context.Context, n *Notification) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE notices SET state = ?, why = ?, error = ?, attempts = ?, due = ?, leased = 0, at = ?
			WHERE stream_id = 1 AND id = ? AND (state = 'queued' OR ? = 'sent')`,
			n.State, n.Why, n.Error, n.Attempts, toMillis(n.Due), toMillis(t.now), n.ID, n.State)
		return err
	}})
}

// SuppressNotifications makes the queued notices of a question suppressed; it reports whether
// there were any.
func (s *Store) SuppressNotifications(ctx context.Context, id schema.EventID, why string) (some bool, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) error {
		n, err := t.exec(`UPDATE notices SET state = 'suppressed', why = ?, leased = 0, at = ?
			WHERE stream_id = 1 AND question = ? AND state = 'queued'`, why, toMillis(t.now), id)
		some = n > 0
		return err
	}})
	return some, err
}

// ReleaseNotificationLeases gives back what was under way when the hub stopped, and names the
// pending questions that have notices.
func (s *Store) ReleaseNotificationLeases(ctx context.Context) ([]schema.EventID, error) {
	err := s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE notices SET due = ?, leased = 0 WHERE stream_id = 1 AND state = 'queued' AND leased > 0`, toMillis(t.now))
		return err
	}})
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.query(ctx, queryPendingNotified)
	return scanIDs(rows, err)
}

// NotificationSettings are a person's own; zero when there are none.
func (s *Store) NotificationSettings(ctx context.Context, person string) (settings schema.NotificationSettings, err error) {
	var raw []byte
	err = s.readers.get(ctx, []any{&raw}, `SELECT settings FROM notice_settings WHERE stream_id = 1 AND person = ?`, person)
	if errors.Is(err, sql.ErrNoRows) {
		return settings, nil
	}
	if err != nil {
		return settings, err
	}
	return settings, json.Unmarshal(raw, &settings)
}

// SetNotificationSettings replaces a person's settings.
func (s *Store) SetNotificationSettings(ctx context.Context, person string, settings schema.NotificationSettings) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`INSERT INTO notice_settings (stream_id, person, settings) VALUES (1, ?, ?)
			ON CONFLICT (stream_id, person) DO UPDATE SET settings = excluded.settings`, person, raw)
		return err
	}})
}
