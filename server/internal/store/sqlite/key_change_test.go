package sqlite

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// changeKey stops the store, changes its key and opens it again.
func (b *testStore) changeKey(t *testing.T, change *store.KeyChange) {
	t.Helper()
	require.NoError(t, b.Close())
	require.NoError(t, ChangeKey(t.Context(), b.cfg, change))
	b.Open(t)
}

// TestChangeKey_AgentsFollowRotations: an agent that trusts a key reaches the current one through at
// most 8 rotations. Nothing that was encrypted is lost.
func TestChangeKey_AgentsFollowRotations(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	keys := []ed25519.PublicKey{b.Store.Identity().Public()}
	for i := range sign.MaxRotations + 1 {
		before, err := os.ReadFile(identity.File(b.file))
		require.NoError(t, err)
		change := store.KeyChange{Rotate: true}
		b.changeKey(t, &change)
		keys = append(keys, b.Store.Identity().Public())
		require.Equal(t, store.KeyChange{
			Rotate: true, Old: schema.KeyID(keys[i]), New: schema.KeyID(keys[i+1]),
			PublicKey: sign.FormatPublicKey(keys[i+1]),
		}, change)
		after, err := os.ReadFile(identity.File(b.file))
		require.NoError(t, err)
		require.NotEqual(t, before, after, "the old key is gone")
		require.NoFileExists(t, identity.File(b.file)+".new")
	}
	requireSecrets(t, b)
	requireNotInFile(t, b.file, "HIDDEN")
	rotations, err := b.Store.KeyRotations(t.Context())
	require.NoError(t, err)
	require.Len(t, rotations, sign.MaxRotations)
	current := keys[len(keys)-1]
	for i, key := range keys[:len(keys)-1] {
		reached, err := sign.FollowRotations([]ed25519.PublicKey{key}, rotations)
		if i == 0 {
			require.Error(t, err, "the first key is too old")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, current, reached)
	}
	var r sign.KeyRotation
	require.NoError(t, json.Unmarshal(rotations[0].Payload, &r))
	require.Equal(t, b.Store.HubID(), r.HubID)

	last := b.LedgerEntries(t)[b.head(t).N-1]
	require.Equal(t, "key.rotated", last.Action, "the new key has signed the record of the rotation")
	require.JSONEq(t, `{"from":"`+schema.KeyID(keys[len(keys)-2])+`","to":"`+schema.KeyID(current)+`"}`, string(last.Data))
	state, err := CheckLedger(t.Context(), b.file)
	require.NoError(t, err)
	require.Equal(t, store.LedgerState{Entries: last.N, Signed: last.N, KeyID: b.Store.Identity().ID(), HasKey: true}, state)
}

func TestChangeKey_NewKeyHasNoPredecessor(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	b.changeKey(t, &store.KeyChange{Rotate: true})
	stolen := b.Store.Identity()
	change := store.KeyChange{}
	b.changeKey(t, &change)
	require.Equal(t, stolen.ID(), change.Old)
	require.False(t, change.Lost)
	requireSecrets(t, b)
	rotations, err := b.Store.KeyRotations(t.Context())
	require.NoError(t, err)
	require.Empty(t, rotations, "whoever has the stolen key cannot lead agents to the new one")
	entries := b.LedgerEntries(t)
	require.Equal(t, "key.replaced", entries[len(entries)-1].Action)
}

func TestChangeKey_LostKey(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, file string){
		"missing": func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) },
		"damaged": func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, []byte("?"), 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestStore(t)
			addSecrets(t, b)
			require.NoError(t, b.Store.AddPushSubscription(t.Context(), "ada", schema.PushSubscription{Endpoint: "https://push.example"}, 10))
			require.NoError(t, b.Close())
			lose(t, identity.File(b.file))
			require.Error(t, ChangeKey(t.Context(), b.cfg, &store.KeyChange{Rotate: true}), "only the old key can sign its successor")
			change := store.KeyChange{}
			require.NoError(t, ChangeKey(t.Context(), b.cfg, &change))
			require.True(t, change.Lost)
			require.Equal(t, []string{"ops"}, change.Channels)
			b.Open(t)
			channels, err := b.Store.Channels(t.Context())
			require.NoError(t, err)
			require.Empty(t, channels)
			private, public, err := b.Store.PushKeys(t.Context())
			require.NoError(t, err)
			require.Empty(t, private+public)
			people, err := b.Store.PushSubscribers(t.Context())
			require.NoError(t, err)
			require.Empty(t, people)
			_, err = CheckLedger(t.Context(), b.file)
			require.NoError(t, err)
		})
	}
}

func TestChangeKey_KeepsKeyOfAnotherHub(t *testing.T) {
	t.Parallel()
	b, other := newTestStore(t), newTestStore(t)
	require.NoError(t, b.Close())
	copyKey(t, other.file, b.file)
	require.ErrorIs(t, ChangeKey(t.Context(), b.cfg, &store.KeyChange{}), identity.ErrMismatch)
	_, err := identity.Open(identity.File(b.file), other.Store.Identity().Public())
	require.NoError(t, err, "the file was not overwritten")
	require.ErrorIs(t, ChangeKey(t.Context(), other.cfg, &store.KeyChange{}), store.ErrLocked, "its hub is running")
}

// TestChangeKey_SurvivesCrash: the command was killed before and after the database had the new key.
func TestChangeKey_SurvivesCrash(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	file := identity.File(b.file)
	id := b.Store.Identity().ID()
	require.NoError(t, b.Close())
	_, err := identity.Prepare(file)
	require.NoError(t, err)
	b.Open(t)
	require.Equal(t, id, b.Store.Identity().ID())
	requireSecrets(t, b)

	old := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.Link(file, old))
	b.changeKey(t, &store.KeyChange{Rotate: true})
	id = b.Store.Identity().ID()
	require.NoError(t, b.Close())
	require.NoError(t, os.Rename(file, file+".new"))
	require.NoError(t, os.Rename(old, file))
	b.Open(t)
	require.Equal(t, id, b.Store.Identity().ID())
	requireSecrets(t, b)
}

// TestChangeKey_FailureChangesNothing: a change that fails halfway leaves no secret that only the
// discarded key could decrypt.
func TestChangeKey_FailureChangesNothing(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	id := b.Store.Identity().ID()
	exec := func(query string) {
		t.Helper()
		_, err := b.writer.conn.ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	exec(`CREATE TABLE saved AS SELECT push FROM notifier`)
	exec(`UPDATE notifier SET push = 'damaged'`) // the last secret that is encrypted again
	require.NoError(t, b.Close())
	require.ErrorContains(t, ChangeKey(t.Context(), b.cfg, &store.KeyChange{Rotate: true}), "nothing was changed")
	b.Open(t)
	exec(`UPDATE notifier SET push = (SELECT push FROM saved)`)
	require.Equal(t, id, b.Store.Identity().ID())
	requireSecrets(t, b)
}

// TestChangeKey_SignsUndeliveredAnswersAgain: an agent that waits through a rotation gets an answer
// that its new pin verifies. A receipt that was changed in the file is not signed.
func TestChangeKey_SignsUndeliveredAnswersAgain(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	var ids []schema.EventID
	for range 2 {
		q := b.MustQuestion(t, b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID)
		c := conformance.AnswerChange(q)
		receipt, err := json.Marshal(b.Store.Identity().Sign(schema.StatementPayload, []byte(`{"a":1}`)))
		require.NoError(t, err)
		c.Receipt = receipt
		require.NoError(t, b.Apply(t.Context(), c))
		ids = append(ids, q.ID)
	}
	old := b.Store.Identity().Public()
	db, err := openExisting(b.file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE questions SET receipt = CAST(replace(receipt, 'eyJhIjoxfQ==', 'eyJhIjoyfQ==') AS BLOB) WHERE seq = ?`, ids[1])
	require.NoError(t, err)
	require.NoError(t, db.Close())
	b.changeKey(t, &store.KeyChange{Rotate: true})
	for i, want := range []error{nil, schema.ErrUnsigned} {
		var e schema.Envelope
		require.NoError(t, json.Unmarshal(b.MustQuestion(t, ids[i]).Receipt, &e))
		require.Equal(t, want, e.Verify(schema.StatementPayload, b.Store.Identity().Public()))
		require.Error(t, e.Verify(schema.StatementPayload, old))
	}
}
