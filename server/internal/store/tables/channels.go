package tables

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// channels returns the table of the channels, whose secrets are encrypted with a key.
func channels(key *identity.Key) *table[store.Channel] {
	return newTable("channels", "id", "id, name, kind, url, secret, person, is_brief, created_at, created_by", func(c *store.Channel) []any {
		return []any{
			&c.ID, &c.Name, &c.Kind, secret{key, c, "url", &c.URL}, secret{key, c, "secret", &c.Secret}, &c.Person,
			&c.IsBrief, ScanTime(&c.CreatedAt), &c.CreatedBy,
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
	return t.Write(ctx, Policy, func(w *Work) error {
		count, err := get[int](w, `SELECT count(*) FROM channels`)
		if err != nil {
			return err
		}
		if count >= limit {
			return &schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d channels; remove another channel first", limit)}
		}
		if c.ID, err = get[int64](w, `UPDATE notifier SET channel = channel + 1 RETURNING channel`); err != nil {
			return err
		}
		c.CreatedAt = w.Now
		if err := channels(t.Key).insert(w, c); err != nil {
			return err
		}
		return w.AppendLedger(store.LedgerRecord{Action: "channel.made", Actor: c.CreatedBy, Data: channelData{ID: c.ID, Name: c.Name, Kind: c.Kind, Person: c.Person}})
	})
}

func (t *Tables) RemoveChannel(ctx context.Context, id int64, by string) ([]schema.EventID, error) {
	return write(ctx, t, Policy, func(w *Work) ([]schema.EventID, error) {
		found, err := w.channelsWhere(`id = $1`, id)
		if err := orNotFound(len(found) > 0, err); err != nil {
			return nil, err
		}
		return w.removeChannel(found[0], by)
	})
}

// channelsWhere returns the channels that satisfy a condition, without their secrets.
func (w *Work) channelsWhere(condition string, args ...any) ([]channelData, error) {
	return collectIn(w, func(c *channelData) []any { return []any{&c.ID, &c.Name, &c.Kind, &c.Person} },
		`SELECT id, name, kind, person FROM channels WHERE `+condition+` ORDER BY id`, args...)
}

func (w *Work) removeChannel(c channelData, by string) (questions []schema.EventID, err error) {
	if err := w.execAll([]string{
		`DELETE FROM channels WHERE id = $1`, `DELETE FROM chat_offsets WHERE channel = $1`, `DELETE FROM chat_messages WHERE channel = $1`,
	}, c.ID); err != nil {
		return nil, err
	}
	if err := w.AppendLedger(store.LedgerRecord{Action: "channel.removed", Actor: by, Data: c}); err != nil {
		return nil, err
	}
	questions, err = collectIn(w, column[schema.EventID], `SELECT DISTINCT question FROM notices WHERE state = 'queued' AND channel = $1`, c.ID)
	if err != nil {
		return nil, err
	}
	return questions, w.Exec(`UPDATE notices SET state = 'failed', error = 'the channel was removed', leased = 0, at = $1
		WHERE state = 'queued' AND channel = $2`, Millis(w.Now), c.ID)
}
