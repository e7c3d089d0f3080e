// Package flows keeps the state between the steps of sign-ins and similar exchanges in the store, so
// that each step may reach another hub. Every flow works once.
package flows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// Kind is a kind of flow.
type Kind struct {
	Name  string // also separates the secrets of kinds
	Limit int    // of pending flows with one owner; the one that expires first makes room
}

// Key finds a flow.
type Key struct {
	Kind
	Owner  string // whose limit it counts for; not needed to take it
	Secret string
}

// Flows are the pending flows of a hub.
type Flows struct {
	Store interface {
		store.Flows
		Identity() *identity.Key
	}
	Clock func() time.Time
}

// Put keeps data. An earlier flow of this kind with the same secret ends.
func (f Flows) Put(ctx context.Context, k Key, data any, expiresAt time.Time) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode %s: %w", k.Name, err)
	}
	id := idOf(&k)
	return f.Store.PutFlow(ctx, &store.Flow{
		ID: id, Kind: k.Name + "\n" + k.Owner, ExpiresAt: expiresAt,
		Data: []byte(f.Store.Identity().Encrypt(placeOf(id), string(text))),
	}, f.Clock(), k.Limit)
}

// Take ends the flow and decodes its data. ok is false if there is none
// or it has expired.
func (f Flows) Take(ctx context.Context, k Key, data any) (ok bool, err error) {
	id := idOf(&k)
	found, err := f.Store.TakeFlow(ctx, id, f.Clock())
	if errors.Is(err, schema.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := f.Store.Identity().Decrypt(placeOf(id), string(found.Data))
	if err != nil {
		return false, nil //nolint:nilerr // of an earlier key: the flow has ended
	}
	if err := json.Unmarshal([]byte(text), data); err != nil {
		return false, fmt.Errorf("decode %s: %w", k.Name, err)
	}
	return true, nil
}

// idOf returns the hash under which a flow is stored: a reader of the database can't continue it.
func idOf(k *Key) []byte {
	sum := sha256.Sum256([]byte(k.Name + "\n" + k.Secret))
	return sum[:]
}

// placeOf returns the place of the data for its encryption.
func placeOf(id []byte) string { return "flow " + hex.EncodeToString(id) }
