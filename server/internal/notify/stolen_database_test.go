package notify

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

type everyoneIsAdmin struct{ fakeAccounts }

func (everyoneIsAdmin) IdentityOf(name, via string) (auth.Identity, bool) {
	return auth.Identity{Name: name, Role: schema.Admin, Via: via}, true
}

func (everyoneIsAdmin) CreatedAt(string) (at time.Time, ok bool) { return at, true }

// TestStolenDatabase_ForgesNothing: a thief runs a hub on a copy of the database. The copy needs a
// new key, so its links and signatures are worth nothing at the real hub.
func TestStolenDatabase_ForgesNothing(t *testing.T) {
	t.Parallel()
	storetest.RequireSQLite(t)
	h := newHarness(t, ada)
	h.addChannel(startServer(t).URL)
	id := h.askQuestion("May I?")
	copied := sqlite.Config{Path: filepath.Join(t.TempDir(), "stolen.db"), ReserveFileBytes: -1}
	require.NoError(t, sqlite.Backup(t.Context(), h.db, copied.Path))
	_, err := sqlite.Open(t.Context(), copied)
	require.ErrorContains(t, err, "key is missing")
	require.NoError(t, sqlite.ChangeKey(t.Context(), copied, &store.KeyChange{}))
	stolen, err := sqlite.Open(t.Context(), copied)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stolen.Close()) })
	channels, err := stolen.Channels(t.Context())
	require.NoError(t, err)
	require.Empty(t, channels)

	thief := New(Config{Store: stolen, Base: "https://hub.example.com", Clock: h.now, Accounts: everyoneIsAdmin{}})
	q, err := thief.readQuestion(t.Context(), id)
	require.NoError(t, err)
	address, _, err := thief.signedLink(q, ada.Name)
	require.NoError(t, err)
	_, forged, _ := strings.Cut(address, "#")
	_, err = thief.OpenLink(t.Context(), id, forged, "")
	require.NoError(t, err, "it is a valid link of the thief's hub")
	_, err = h.OpenLink(t.Context(), id, forged, "")
	require.ErrorContains(t, err, "another hub")
	require.ErrorIs(t, h.vote(id, forged), schema.ErrNotAllowed)

	receipt := stolen.Identity().Sign(schema.StatementPayload, []byte(`{}`))
	require.ErrorIs(t, receipt.Verify(schema.StatementPayload, h.Store.Identity().Public()), schema.ErrUnsigned)
}
