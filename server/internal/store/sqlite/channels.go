package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryChannels = `SELECT id, name, kind, url, secret, person, is_brief, created_at, created_by FROM channels ORDER BY id`

func (s *engine) Channels(ctx context.Context) ([]store.Channel, error) {
	rows, err := s.readers.query(ctx, queryChannels)
	return scanChannels(rows, err, s.identity)
}

// scanChannels reads and decrypts the rows of queryChannels.
func scanChannels(rows *sql.Rows, err error, key decrypter) ([]store.Channel, error) {
	return collect(rows, err, func(rows *sql.Rows, c *store.Channel) error {
		if err := rows.Scan(&c.ID, &c.Name, &c.Kind, &c.URL, &c.Secret, &c.Person,
			&c.IsBrief, kit.ScanTime(&c.CreatedAt), &c.CreatedBy); err != nil {
			return err
		}
		url, errURL := key.Decrypt(channelPlace("url", c.ID), c.URL)
		secret, errSecret := key.Decrypt(channelPlace("secret", c.ID), c.Secret)
		c.URL, c.Secret = url, secret
		return errors.Join(errURL, errSecret)
	})
}

func (s *engine) AddChannel(ctx context.Context, c *store.Channel, limit int) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var count int
		if err := t.get([]any{&count}, `SELECT count(*) FROM channels`); err != nil {
			return err
		}
		if count >= limit {
			return &schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d channels; remove another channel first", limit)}
		}
		if _, err := t.exec(`UPDATE notifier SET channel = channel + 1`); err != nil {
			return err
		}
		if err := t.get([]any{&c.ID}, `SELECT channel FROM notifier`); err != nil {
			return err
		}
		c.CreatedAt = t.now
		url, secret := s.identity.Encrypt(channelPlace("url", c.ID), c.URL), s.identity.Encrypt(channelPlace("secret", c.ID), c.Secret)
		_, err := t.exec(`INSERT INTO channels (id, name, kind, url, secret, person, is_brief, created_at, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Name, c.Kind, url, secret, c.Person, c.IsBrief, kit.Millis(c.CreatedAt), c.CreatedBy)
		if err != nil {
			return err
		}
		return t.appendLedger(store.LedgerRecord{Action: "channel.made", Actor: c.CreatedBy, Data: kit.ChannelData{ID: c.ID, Name: c.Name, Kind: c.Kind, Person: c.Person}})
	}})
}

func (s *engine) RemoveChannel(ctx context.Context, id int64, by string) (questions []schema.EventID, err error) {
	err = s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) (err error) {
		removed := kit.ChannelData{ID: id}
		err = t.get([]any{&removed.Name, &removed.Kind, &removed.Person}, `SELECT name, kind, person FROM channels WHERE id = ?`, id)
		if errors.Is(err, sql.ErrNoRows) {
			return schema.ErrNotFound
		}
		if err != nil {
			return err
		}
		questions, err = t.removeChannel(removed, by)
		return err
	}})
	return questions, err
}

// channelsWhere returns the channels that satisfy a condition.
func (t *tx) channelsWhere(condition string, args ...any) ([]kit.ChannelData, error) {
	rows, err := t.query(`SELECT id, name, kind, person FROM channels WHERE `+condition+` ORDER BY id`, args...)
	return collect(rows, err, func(rows *sql.Rows, c *kit.ChannelData) error { return rows.Scan(&c.ID, &c.Name, &c.Kind, &c.Person) })
}

func (t *tx) removeChannel(c kit.ChannelData, by string) (questions []schema.EventID, err error) {
	if _, err := t.exec(`DELETE FROM channels WHERE id = ?`, c.ID); err != nil {
		return nil, err
	}
	for _, query := range []string{
		`DELETE FROM chat_offsets WHERE channel = ?`,
		`DELETE FROM chat_messages WHERE channel = ?`,
	} {
		if _, err := t.exec(query, c.ID); err != nil {
			return nil, err
		}
	}
	if err := t.appendLedger(store.LedgerRecord{Action: "channel.removed", Actor: by, Data: c}); err != nil {
		return nil, err
	}
	rows, err := t.query(`SELECT DISTINCT question FROM notices WHERE state = 'queued' AND channel = ?`, c.ID)
	if questions, err = scanIDs(rows, err); err != nil {
		return nil, err
	}
	_, err = t.exec(`UPDATE notices SET state = 'failed', error = 'the channel was removed', leased = 0, at = ?
		WHERE state = 'queued' AND channel = ?`, kit.Millis(t.now), c.ID)
	return questions, err
}
