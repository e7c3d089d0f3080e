package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var shareTime = time.UnixMilli(1_700_000_000_000)

// openShares opens a database with the account ada and the session app/s.
func (s suite) openShares(t *testing.T) *Harness {
	t.Helper()
	b := s.open(t)
	b.setShareAuthor(t, schema.Operator, time.Time{})
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	b.MustProject(t, &store.ProjectionBatch{Sessions: []store.SessionRow{NewSessionRow("s", 1, 1)}})
	return b
}

// setShareAuthor writes the account ada.
func (b *Harness) setShareAuthor(t *testing.T, role schema.Role, resetAt time.Time) {
	t.Helper()
	_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{{Name: "ada", Role: role, CreatedAt: shareTime, ResetAt: resetAt}}}})
	require.NoError(t, err)
}

// newShare returns a share link of ada for app/s that expires an hour after it was created.
func newShare(id string, createdAt time.Time) store.Share {
	return store.Share{
		ID: id, Session: store.SessionKey{App: "app", Session: "s"}, Person: "ada", Hash: []byte{1, 2}, Transcript: true,
		CreatedAt: createdAt, ExpiresAt: createdAt.Add(time.Hour),
	}
}

func (b *Harness) mustShare(t *testing.T, share store.Share) {
	t.Helper()
	require.NoError(t, b.CreateShare(t.Context(), share, store.LedgerRecord{Action: "share.made", Actor: share.Person}))
}

func (b *Harness) shareIDs(t *testing.T) (ids []string) {
	t.Helper()
	list, err := b.Shares(t.Context())
	require.NoError(t, err)
	for _, share := range list {
		ids = append(ids, share.ID)
	}
	return ids
}

// shareRecords returns the actions of share links in the audit log.
func (b *Harness) shareRecords(t *testing.T) (actions []string) {
	t.Helper()
	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 100})
	require.NoError(t, err)
	for _, entry := range entries {
		for _, action := range []string{"share.made", "share.opened", "share.revoked"} {
			if strings.Contains(string(entry), `"`+action+`"`) {
				actions = append(actions, action)
			}
		}
	}
	return actions
}

func (s suite) TestShares_AreStored(t *testing.T) {
	t.Parallel()
	b, ctx := s.openShares(t), t.Context()
	first, second := newShare("one", shareTime), newShare("two", shareTime.Add(time.Second))
	b.mustShare(t, first)
	b.mustShare(t, second)
	opened := store.LedgerRecord{Action: "share.opened", Actor: "share link"}
	require.NoError(t, b.RecordShareOpened(ctx, "one", shareTime.Add(time.Minute), opened))
	require.NoError(t, b.RecordShareOpened(ctx, "one", shareTime.Add(2*time.Minute), opened))
	require.NoError(t, b.RecordShareOpened(ctx, "unknown", shareTime, opened))
	b.Reopen(t)
	first.OpenedAt, first.Opens = shareTime.Add(2*time.Minute), 2
	list, err := b.Shares(ctx)
	require.NoError(t, err)
	require.Equal(t, []store.Share{second, first}, list, "the newest first")
	share, err := b.Share(ctx, "one")
	require.NoError(t, err)
	require.Equal(t, first, share)
	_, err = b.Share(ctx, "unknown")
	require.ErrorIs(t, err, schema.ErrNotFound)

	revoked := store.LedgerRecord{Action: "share.revoked", Actor: "ada"}
	require.NoError(t, b.RemoveShare(ctx, "one", revoked))
	require.ErrorIs(t, b.RemoveShare(ctx, "one", revoked), schema.ErrNotFound)
	require.Equal(t, []string{"two"}, b.shareIDs(t))
	require.Equal(t, []string{"share.made", "share.made", "share.opened", "share.revoked"}, b.shareRecords(t), "the first opening is recorded")
}

func (s suite) TestCreateShare_NeedsSessionAndOperator(t *testing.T) {
	t.Parallel()
	b := s.openShares(t)
	record := store.LedgerRecord{Action: "share.made", Actor: "ada"}
	unknown, stranger := newShare("one", shareTime), newShare("two", shareTime)
	unknown.Session.Session, stranger.Person = "other", "grace"
	for _, share := range []store.Share{unknown, stranger} {
		require.ErrorIs(t, b.CreateShare(t.Context(), share, record), schema.ErrNotFound)
	}
	b.setShareAuthor(t, schema.Viewer, time.Time{})
	require.ErrorIs(t, b.CreateShare(t.Context(), newShare("three", shareTime), record), schema.ErrNotFound)
	require.Empty(t, b.shareIDs(t))
	require.Empty(t, b.shareRecords(t))
}

func (s suite) TestCreateShare_RemovesExpired(t *testing.T) {
	t.Parallel()
	b := s.openShares(t)
	b.mustShare(t, newShare("old", shareTime))
	b.mustShare(t, newShare("valid", shareTime.Add(time.Minute)))
	b.mustShare(t, newShare("new", shareTime.Add(time.Hour)))
	require.Equal(t, []string{"new", "valid"}, b.shareIDs(t))
}

func (s suite) TestChangePeople_EndsShares(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *Harness, t *testing.T){
		"role lost": func(b *Harness, t *testing.T) {
			t.Helper()
			b.setShareAuthor(t, schema.Viewer, time.Time{})
			b.setShareAuthor(t, schema.Operator, time.Time{})
		},
		"reset": func(b *Harness, t *testing.T) {
			t.Helper()
			b.setShareAuthor(t, schema.Operator, shareTime.Add(time.Minute))
		},
		"removed": func(b *Harness, t *testing.T) {
			t.Helper()
			_, err := b.ChangePeople(t.Context(), &store.PeopleChange{RemovedPeople: []string{"ada"}})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.openShares(t)
			_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{{Name: "grace", Role: schema.Admin, CreatedAt: shareTime}}}})
			require.NoError(t, err)
			other := newShare("other", shareTime)
			other.Person = "grace"
			b.mustShare(t, other)
			b.mustShare(t, newShare("one", shareTime))
			b.setShareAuthor(t, schema.Admin, time.Time{}) // still an operator
			require.Equal(t, []string{"one", "other"}, b.shareIDs(t))
			change(b, t)
			require.Equal(t, []string{"other"}, b.shareIDs(t))
		})
	}
}

func (s suite) TestPrune_EndsSharesOfItsSessions(t *testing.T) {
	t.Parallel()
	b := s.openShares(t)
	b.mustShare(t, newShare("one", shareTime))
	_, err := b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Empty(t, b.shareIDs(t))
}
