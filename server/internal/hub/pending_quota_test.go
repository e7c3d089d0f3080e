package hub

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// askIn returns a question of a session.
func askIn(session string, members ...string) string {
	return fmt.Sprintf(`{"source_app":"a","session_id":%q,"hook_event_type":"Ask","payload":{},%s"humanInTheLoop":{"question":"May I?","type":"permission"}}`,
		session, strings.Join(members, ""))
}

func TestPendingQuota(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.PendingLimits = PendingLimits{Session: 2, Owner: 3, Hub: 5} })
	ask := func(body string, by Caller) error {
		_, err := h.Ingest(t.Context(), []byte(body), by)
		return err
	}
	token := func(name string) Caller {
		return Caller{Identity: auth.Identity{Name: name, Agent: true, Via: "token"}}
	}

	require.NoError(t, ask(askIn("s1", `"idempotency_key":"k",`), token("one")))
	require.NoError(t, ask(askIn("s1"), token("one")))
	err := ask(askIn("s1"), token("one"))
	require.ErrorIs(t, err, schema.ErrTooMany)
	require.Equal(t, 429, schema.ProblemOf(err).Status)
	require.Contains(t, schema.ProblemOf(err).Detail, "this session already has 2 questions waiting")
	require.NoError(t, ask(askIn("s1", `"idempotency_key":"k",`), token("one")), "a repeat adds no question")
	require.NoError(t, ask(eventWith(`"timestamp":1`), token("one")), "plain events are not limited")

	require.NoError(t, ask(askIn("s2"), token("one")))
	require.ErrorContains(t, ask(askIn("s3"), token("one")), "this agent already has 3")
	require.NoError(t, ask(askIn("s3"), token("two")), "the limit is each one's own")
	require.NoError(t, ask(askIn("s4"), token("three")))
	require.ErrorContains(t, ask(askIn("s5"), token("four")), "this hub already has 5")

	_, err = h.Cancel(t.Context(), 1, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	require.NoError(t, ask(askIn("s1"), token("one")), "a settled question makes room")
	require.ErrorContains(t, ask(askIn("s5"), token("four")), "this hub already has 5")
}

// The questions of a batch count before any of them is stored.
func TestPendingQuota_Batch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits    PendingLimits
		sessionOf func(i int) string
		refusal   string
	}{
		"session": {PendingLimits{Session: 3}, func(int) string { return "s" }, "this session already has 3"},
		"owner":   {PendingLimits{Owner: 3}, strconv.Itoa, "this agent already has 3"},
		"hub":     {PendingLimits{Hub: 3}, strconv.Itoa, "this hub already has 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t, func(c *Config) { c.PendingLimits = test.limits })
			var asks []string
			for i := range 8 {
				asks = append(asks, askIn(test.sessionOf(i)))
			}
			batch := []byte("[" + strings.Join(asks, ",") + "]")
			raw, ids, err := h.IngestBatch(t.Context(), batch, Caller{})
			require.NoError(t, err)
			require.Len(t, ids, 3)
			var results []schema.BatchResult
			require.NoError(t, json.Unmarshal(raw, &results))
			for _, r := range results[3:] {
				require.Equal(t, 429, r.Problem.Status)
				require.Contains(t, r.Problem.Detail, test.refusal)
			}

			_, err = h.Cancel(t.Context(), ids[0], schema.Cancel{}, Caller{})
			require.NoError(t, err)
			_, ids, err = h.IngestBatch(t.Context(), batch, Caller{})
			require.NoError(t, err)
			require.Len(t, ids, 1, "one was settled, and refused questions don't count")
		})
	}
}

func TestPendingQuota_ConcurrentPosts(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]PendingLimits{"session": {Session: 5}, "owner": {Owner: 5}, "hub": {Hub: 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t, func(c *Config) { c.PendingLimits = limits })
			errs := make([]error, 40)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { _, errs[i] = h.Ingest(t.Context(), []byte(askIn("s")), Caller{}) })
			}
			wg.Wait()
			stored := 0
			for _, err := range errs {
				if err == nil {
					stored++
					continue
				}
				require.ErrorIs(t, err, schema.ErrTooMany)
			}
			require.Equal(t, 5, stored)
		})
	}
}

// A question that is not stored must not count.
func TestPendingQuota_RejectedQuestionDoesNotCount(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.PendingLimits = PendingLimits{Session: 1, Owner: 1, Hub: 1} })
	first := h.post(askIn("s", `"idempotency_key":"k",`))
	require.NotZero(t, first.ID)
	_, err := h.Cancel(t.Context(), first.ID, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	for range 3 { // conflicts with the key
		_, err := h.Ingest(t.Context(), []byte(askIn("s", `"timestamp":5,"idempotency_key":"k",`)), Caller{})
		require.ErrorIs(t, err, schema.ErrKeyConflict)
	}
	for range 3 { // repeats
		require.Equal(t, first.ID, h.post(askIn("s", `"idempotency_key":"k",`)).ID)
	}
	require.NotEqual(t, first.ID, h.post(askIn("s")).ID)
}
