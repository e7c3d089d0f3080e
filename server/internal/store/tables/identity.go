package tables

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
)

func (t *Tables) HubID() string { return t.ID }

func (t *Tables) Identity() *identity.Key { return t.Key }

func (t *Tables) KeyRotations(ctx context.Context) ([]schema.Envelope, error) {
	return collect(ctx, t, func(e *schema.Envelope) []any { return []any{JSONBytes(e)} }, `SELECT envelope FROM key_rotations ORDER BY n`)
}

// SetKey stores the public part of the hub's key, and encrypts all secrets with it that the old key decrypts.
func (w *Work) SetKey(old *identity.Key) error {
	list, err := channels(old).listIn(w, `ORDER BY id`)
	for i := range list {
		if err == nil {
			err = channels(w.t.Key).upsert(w, &list[i])
		}
	}
	if err != nil {
		return err
	}
	private, err := get[string](w, `SELECT push FROM notifier`)
	if err == nil {
		private, err = old.Decrypt(pushKeyPlace, private)
	}
	if err != nil {
		return err
	}
	if err = w.Exec(`UPDATE notifier SET push = $1`, w.t.Key.Encrypt(pushKeyPlace, private)); err != nil {
		return err
	}
	if err = w.Exec(`UPDATE hub SET public_key = $1`, []byte(w.t.Key.Public())); err != nil {
		return err
	}
	return w.SignLedgerHead()
}

// RemoveUnreadable removes everything that only a lost key could decrypt: the channels, whose names
// it returns, and the Web Push key with the subscriptions that depend on it.
func (w *Work) RemoveUnreadable() (channels []string, err error) {
	all, err := w.channelsWhere(`TRUE`)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if _, err := w.removeChannel(c, ByHub); err != nil {
			return nil, err
		}
		channels = append(channels, c.Name)
	}
	if err := w.Exec(`DELETE FROM browsers`); err != nil {
		return nil, err
	}
	return channels, w.Exec(`UPDATE notifier SET push = '', push_key = ''`)
}
