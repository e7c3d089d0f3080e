package tables

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
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
	return t.change(ctx, Plain, func(w *Work) {
		now := Millis(w.Now)
		for i := range notifications {
			n := &notifications[i]
			w.do(`INSERT INTO notices (question, channel, name, person, kind, n, state, why, error, attempts, due, leased, made_at, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', 0, $9, 0, $10, $10) ON CONFLICT (question, channel, person, kind, n) DO NOTHING`,
				id, n.Channel, n.Notification.Channel, n.Person, n.Kind, n.ReminderNumber, n.State, n.Why, Millis(n.Due), now)
		}
		if done != nil {
			w.do(`INSERT INTO noticed (question, reminders, escalated) VALUES ($1, $2, $3)
				ON CONFLICT (question) DO UPDATE SET reminders = excluded.reminders, escalated = excluded.escalated`,
				id, done.Reminders, done.Escalated)
		}
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
	return write(ctx, t, Plain, func(w *Work) store.Claim { return w.claimNotification(n, until, since) })
}

func (w *Work) claimNotification(n *store.Notification, until, since time.Time) store.Claim {
	if !since.IsZero() {
		last := get[int64](w, `SELECT max(at) FROM notices WHERE state = 'sent' AND channel = $1 AND person = $2`, n.Channel, n.Person)
		now := Millis(w.Now)
		// A send time in the future was recorded before the clock was corrected.
		if last > Millis(since) && last <= now {
			return store.ClaimCooldown
		}
		if get[int64](w, `SELECT count(*) FROM notices WHERE state = 'queued' AND channel = $1 AND due > $2 AND leased > $2
			AND person = $3 AND id <> $4`, n.Channel, now, n.Person, n.ID) > 0 {
			return store.ClaimInFlight
		}
	}
	if w.count(`UPDATE notices SET due = $1, leased = $1 WHERE id = $2 AND state = 'queued' AND due = $3`,
		Millis(until), n.ID, Millis(n.Due)) == 0 {
		return store.ClaimLost
	}
	return store.Claimed
}

func (t *Tables) SetNotification(ctx context.Context, n *store.Notification) error {
	return t.change(ctx, Plain, func(w *Work) {
		w.do(`UPDATE notices SET state = $1, why = $2, error = $3, attempts = $4, due = $5, leased = 0, at = $6
			WHERE id = $7 AND (state = 'queued' OR $8 = 'sent')`,
			n.State, n.Why, n.Error, n.Attempts, Millis(n.Due), Millis(w.Now), n.ID, n.State)
	})
}

func (t *Tables) SuppressNotifications(ctx context.Context, id schema.EventID, why string) (bool, error) {
	return write(ctx, t, Plain, func(w *Work) bool {
		return w.count(`UPDATE notices SET state = 'suppressed', why = $1, leased = 0, at = $2
			WHERE question = $3 AND state = 'queued'`, why, Millis(w.Now), id) > 0
	})
}

func (t *Tables) ReleaseNotificationLeases(ctx context.Context) ([]schema.EventID, error) {
	if err := t.change(ctx, Plain, func(w *Work) {
		w.do(`UPDATE notices SET due = $1, leased = 0 WHERE state = 'queued' AND leased > 0`, Millis(w.Now))
	}); err != nil {
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

// channels returns the table of the channels, whose secrets are encrypted with a key.
func channels(key *identity.Key) *table[store.Channel] {
	return newTable("channels", "id", "id, name, kind, url, secret, person, is_brief, filter, created_at, created_by", func(c *store.Channel) []any {
		return []any{
			&c.ID, &c.Name, &c.Kind, secret{key, c, "url", &c.URL}, secret{key, c, "secret", &c.Secret}, &c.Person,
			&c.IsBrief, JSON(&c.Filter), ScanTime(&c.CreatedAt), &c.CreatedBy,
		}
	})
}

// secret is an encrypted column of a channel. A text that was moved to another column or row does not decrypt.
type secret struct {
	key    *identity.Key
	c      *store.Channel
	column string
	text   *string
}

func (s secret) place() string { return fmt.Sprintf("channels.%s %d", s.column, s.c.ID) }

// Value implements driver.Valuer.
func (s secret) Value() (driver.Value, error) { return s.key.Encrypt(s.place(), *s.text), nil }

// Scan implements sql.Scanner, after the channel's ID was scanned.
func (s secret) Scan(value any) (err error) {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("a secret is stored as %T", value)
	}
	*s.text, err = s.key.Decrypt(s.place(), text)
	return err
}

func (t *Tables) Channels(ctx context.Context) ([]store.Channel, error) {
	return channels(t.Key).list(ctx, t, `ORDER BY id`)
}

func (t *Tables) AddChannel(ctx context.Context, c *store.Channel, limit int) error {
	return t.change(ctx, Policy, func(w *Work) {
		w.require(get[int](w, `SELECT count(*) FROM channels`) < limit,
			&schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d channels; remove another channel first", limit)})
		c.ID, c.CreatedAt = get[int64](w, `UPDATE notifier SET channel = channel + 1 RETURNING channel`), w.Now
		channels(t.Key).insert(w, c)
		made := channelData{ID: c.ID, Name: c.Name, Kind: c.Kind, Person: c.Person}
		w.record(store.LedgerRecord{Action: "channel.made", Actor: c.CreatedBy, Data: made})
	})
}

func (t *Tables) RemoveChannel(ctx context.Context, id int64, by string) ([]schema.EventID, error) {
	return write(ctx, t, Policy, func(w *Work) []schema.EventID { return w.removeChannel(w.channel(id), by) })
}

func (t *Tables) SetChannelFilter(ctx context.Context, id int64, filter schema.ChannelFilter, by string) error {
	return t.change(ctx, Policy, func(w *Work) {
		c := w.channel(id)
		c.Filter = &filter
		w.do(`UPDATE channels SET filter = $1 WHERE id = $2`, JSON(filter), id)
		w.record(store.LedgerRecord{Action: "channel.filtered", Actor: by, Data: c})
	})
}

// channel returns a channel without its secrets.
func (w *Work) channel(id int64) (c channelData) {
	if found := w.channelsWhere(`id = $1`, id); len(found) > 0 {
		return found[0]
	}
	w.fail(schema.ErrNotFound)
	return c
}

// channelsWhere returns the channels that satisfy a condition, without their secrets.
func (w *Work) channelsWhere(condition string, args ...any) []channelData {
	return collectIn(w, func(c *channelData) []any { return []any{&c.ID, &c.Name, &c.Kind, &c.Person} },
		`SELECT id, name, kind, person FROM channels WHERE `+condition+` ORDER BY id`, args...)
}

// removeChannel returns the questions of which notifications were waiting.
func (w *Work) removeChannel(c channelData, by string) []schema.EventID {
	w.doAll([]string{
		`DELETE FROM channels WHERE id = $1`, `DELETE FROM chat_offsets WHERE channel = $1`, `DELETE FROM chat_messages WHERE channel = $1`,
	}, c.ID)
	w.record(store.LedgerRecord{Action: "channel.removed", Actor: by, Data: c})
	questions := collectIn(w, column[schema.EventID], `SELECT DISTINCT question FROM notices WHERE state = 'queued' AND channel = $1`, c.ID)
	w.do(`UPDATE notices SET state = 'failed', error = 'the channel was removed', leased = 0, at = $1
		WHERE state = 'queued' AND channel = $2`, Millis(w.Now), c.ID)
	return questions
}

var chatAccounts = newTable("chat_accounts", "kind, account", "kind, account, label, person, linked_at", func(a *store.ChatAccount) []any {
	return []any{&a.Kind, &a.Account, &a.Label, &a.Person, ScanTime(&a.LinkedAt)}
})

var chatMessages = newTable("chat_messages", "channel, chat, message", "channel, chat, message, notice, question, revision",
	func(m *store.ChatMessage) []any {
		return []any{&m.Channel, &m.Chat, &m.Message, &m.Notice, &m.Question, &m.Revision}
	})

func (t *Tables) ChatOffset(ctx context.Context, channel int64) (int64, error) {
	return read[int64](ctx, t, `SELECT position FROM chat_offsets WHERE channel = $1`, channel)
}

func (t *Tables) SetChatOffset(ctx context.Context, channel, offset int64) error {
	return t.exec(ctx, Plain, `INSERT INTO chat_offsets (channel, position) VALUES ($1, $2)
		ON CONFLICT (channel) DO UPDATE SET position = excluded.position`, channel, offset)
}

func (t *Tables) LinkChatAccount(ctx context.Context, a store.ChatAccount) error {
	return t.change(ctx, Essential|Policy, func(w *Work) {
		a.LinkedAt = w.Now
		chatAccounts.upsert(w, &a)
		linked := chatAccountData{Kind: a.Kind, Account: a.Account, Label: a.Label, Person: a.Person}
		w.record(store.LedgerRecord{Action: "chat.linked", Actor: a.Person, Data: linked})
	})
}

func (t *Tables) ChatAccount(ctx context.Context, kind, account string) (store.ChatAccount, error) {
	return chatAccounts.one(ctx, t, `WHERE kind = $1 AND account = $2`, kind, account)
}

func (t *Tables) ChatAccounts(ctx context.Context, person string) ([]store.ChatAccount, error) {
	return chatAccounts.list(ctx, t, `WHERE person = $1 ORDER BY person, kind, account`, person)
}

func (t *Tables) UnlinkChatAccount(ctx context.Context, kind, account, person string) error {
	return t.change(ctx, Essential|Policy, func(w *Work) {
		removed := chatAccountData{Kind: kind, Account: account, Person: person}
		w.require(w.find([]any{&removed.Label}, `DELETE FROM chat_accounts WHERE kind = $1 AND account = $2 AND person = $3 RETURNING label`,
			kind, account, person), schema.ErrNotFound)
		w.record(store.LedgerRecord{Action: "chat.unlinked", Actor: person, Data: removed})
	})
}

func (t *Tables) AddChatMessage(ctx context.Context, m store.ChatMessage) error {
	return t.exec(ctx, Plain, `INSERT INTO chat_messages (channel, chat, message, notice, question, revision, settled)
		VALUES ($1, $2, $3, $4, $5, $6, false) ON CONFLICT DO NOTHING`, m.Channel, m.Chat, m.Message, m.Notice, m.Question, m.Revision)
}

func (t *Tables) ChatMessage(ctx context.Context, channel int64, chat, message string) (store.ChatMessage, error) {
	return chatMessages.one(ctx, t, `WHERE channel = $1 AND chat = $2 AND message = $3`, channel, chat, message)
}

func (t *Tables) MessagesToSettle(ctx context.Context, channel int64, n int) ([]store.ChatMessage, error) {
	return chatMessages.list(ctx, t, `WHERE channel = $1 AND NOT settled
		AND (SELECT state FROM questions q WHERE q.seq = chat_messages.question) <> 'pending' ORDER BY question LIMIT $2`, channel, n)
}

func (t *Tables) SettleChatMessage(ctx context.Context, m store.ChatMessage) error {
	return t.exec(ctx, Plain, `UPDATE chat_messages SET settled = true WHERE channel = $1 AND chat = $2 AND message = $3`,
		m.Channel, m.Chat, m.Message)
}

// pushKeyPlace is the place of the encrypted Web Push key, see identity.Key.Encrypt.
const pushKeyPlace = "notifier.push"

func (t *Tables) AddPushSubscription(ctx context.Context, person string, b schema.PushSubscription, limit int) error {
	return t.change(ctx, Policy, func(w *Work) {
		w.require(get[int](w, `SELECT count(*) FROM browsers WHERE person = $1 AND endpoint <> $2`, person, b.Endpoint) < limit,
			&schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d browsers; turn off notifications in another browser first", limit)})
		w.do(`INSERT INTO browsers (endpoint, p256dh, auth, person, made_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth, person = excluded.person`,
			b.Endpoint, b.Keys.P256dh, b.Keys.Auth, person, Millis(w.Now))
	})
}

func (t *Tables) RemovePushSubscription(ctx context.Context, endpoint string) error {
	return t.exec(ctx, Policy, `DELETE FROM browsers WHERE endpoint = $1`, endpoint)
}

func (t *Tables) PushSubscriptions(ctx context.Context, person string) ([]schema.PushSubscription, error) {
	return collect(ctx, t, func(b *schema.PushSubscription) []any { return []any{&b.Endpoint, &b.Keys.P256dh, &b.Keys.Auth} },
		`SELECT endpoint, p256dh, auth FROM browsers WHERE person = $1 ORDER BY person`, person)
}

func (t *Tables) PushSubscribers(ctx context.Context) (map[string]bool, error) {
	return collectMap(ctx, t, func(person *string, has *bool) []any { return []any{person, has} }, `SELECT person, count(*) > 0 FROM browsers GROUP BY person`)
}

func (t *Tables) PushKeys(ctx context.Context) (private, public string, err error) {
	if _, err := t.ReadOne(ctx, []any{&private, &public}, `SELECT push, push_key FROM notifier`); err != nil {
		return "", "", err
	}
	private, err = t.Key.Decrypt(pushKeyPlace, private)
	return private, public, err
}

func (t *Tables) SetPushKeys(ctx context.Context, private, public string) error {
	return t.exec(ctx, Policy, `UPDATE notifier SET push = $1, push_key = $2 WHERE push = ''`, t.Key.Encrypt(pushKeyPlace, private), public)
}

func (t *Tables) IsLinkUsed(ctx context.Context, id schema.EventID, mac []byte) (bool, error) {
	return read[bool](ctx, t, `SELECT count(*) > 0 FROM links_used WHERE question = $1 AND mac = $2`, id, mac)
}

func (t *Tables) UseLink(ctx context.Context, id schema.EventID, mac []byte) error {
	return t.change(ctx, Essential|Policy, func(w *Work) {
		w.do(`INSERT INTO links_used (question, mac, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, id, mac, Millis(w.Now))
	})
}
