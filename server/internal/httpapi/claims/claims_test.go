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
	c := New(Config{Store: pendingQuestions{}, Feed: feed.New(0, 64, 1<<20), People: operators{}, Presence: pages, Log: slog.New(slog.DiscardHandler)})
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
