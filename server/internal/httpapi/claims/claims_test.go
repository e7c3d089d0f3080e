package claims

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pendingQuestions is a store in which every question is pending.
type pendingQuestions struct{}

func (pendingQuestions) Question(context.Context, schema.EventID) (*store.Question, error) {
	status, err := json.Marshal(schema.Status{Status: schema.Pending})
	return &store.Question{Event: store.Event{Status: status}}, err
}

// operators are People with every name.
type operators struct{}

func (operators) IdentityOf(name, via string) (auth.Identity, bool) {
	return auth.Identity{Name: name, Role: schema.Operator, Via: via}, true
}

var grace = auth.Identity{Name: "grace", Role: schema.Operator, Via: "session"}

// openPages is a Presence with the persons whose page shows every request.
type openPages map[string]bool

func (o openPages) IsShowing(person string, _ schema.EventID) bool { return o[person] }

// runClaims returns Claims whose leases are checked until the test ends.
func runClaims(t *testing.T, pages openPages) *Claims {
	c := New(Config{
		Store: pendingQuestions{}, Feed: feed.New(0, 64, 1<<20), People: operators{}, Presence: pages,
		Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return c
}

func TestClaims_LeaseEndsWithoutPresence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runClaims(t, openPages{})
		require.NoError(t, c.Claim(t.Context(), 7, "", grace))
		<-time.After(control.ClaimLease - time.Second) // fake clock
		require.Equal(t, "grace", c.List().Claims[0].Person)
		<-time.After(2 * checkInterval) // fake clock
		require.Empty(t, c.List().Claims)
	})
}

func TestClaims_PresenceRenewsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pages := openPages{"grace": true}
		c := runClaims(t, pages)
		require.NoError(t, c.Claim(t.Context(), 7, "", grace))
		first := c.List().Claims[0].ExpiresAt
		<-time.After(3 * control.ClaimLease) // fake clock
		require.Greater(t, c.List().Claims[0].ExpiresAt, first)
		synctest.Wait()
		c.mu.Lock()
		pages["grace"] = false
		c.mu.Unlock()
		<-time.After(control.ClaimLease + checkInterval) // fake clock
		require.Empty(t, c.List().Claims)
	})
}

func TestClaims_LimitDropsOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runClaims(t, openPages{})
		for id := range schema.EventID(maxClaims + 1) {
			require.NoError(t, c.Claim(t.Context(), id+1, "", grace))
			<-time.After(time.Millisecond) // fake clock
		}
		list := c.List().Claims
		require.Len(t, list, maxClaims)
		require.Equal(t, schema.EventID(2), list[0].ID)
	})
}

// linked returns the claims of two hubs that exchange their changes.
func linked(t *testing.T, pages openPages) (a, b *Claims) {
	a, b = runClaims(t, pages), runClaims(t, pages)
	for _, c := range []*Claims{a, b} {
		c.Observe(func() {})
	}
	return a, b
}

// exchange does what the hubs do within a second.
func exchange(a, b *Claims) {
	b.SetOthers([]json.RawMessage{nil, a.Share(), json.RawMessage(`{`)})
	a.SetOthers([]json.RawMessage{b.Share()})
}

func TestClaims_AreKnownAtAllHubs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := linked(t, openPages{})
		require.Nil(t, a.Share())
		require.NoError(t, a.Claim(t.Context(), 7, "", grace))
		exchange(a, b)
		require.Equal(t, a.List(), b.List())
		require.Equal(t, "grace", b.List().Claims[0].Person)

		require.NoError(t, b.Release(t.Context(), 7, grace), "made at the other hub")
		exchange(a, b)
		exchange(a, b)
		require.Empty(t, a.List().Claims)
		require.Empty(t, b.List().Claims)

		<-time.After(time.Second) // fake clock
		require.NoError(t, b.Claim(t.Context(), 8, "", grace))
		exchange(a, b)
		<-time.After(control.ClaimLease + 2*checkInterval) // fake clock
		require.Empty(t, a.List().Claims, "ends by itself")
		exchange(a, b)
		require.Empty(t, a.List().Claims)
		require.Empty(t, b.List().Claims)
	})
}

func TestClaims_StayWhenTheirHubIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := linked(t, openPages{"grace": true})
		require.NoError(t, a.Claim(t.Context(), 7, "", grace))
		exchange(a, b)
		b.SetOthers(nil)
		<-time.After(2 * control.ClaimLease) // fake clock
		require.Len(t, b.List().Claims, 1, "a page shows it")
	})
}
