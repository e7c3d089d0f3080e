package hub

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// modelled is what a question should be like: the whole rule in a few lines.
type modelled struct {
	deadline time.Time
	outcome  schema.Outcome // empty: pending
	held     schema.Outcome // empty: nothing is
	until    time.Time
}

func (m *modelled) pass(now time.Time) {
	switch {
	case m.outcome != "":
	case m.held != "" && !now.Before(m.until):
		m.outcome = m.held
	case !now.Before(m.deadline):
		m.outcome = schema.Timeout
	}
	if m.outcome != "" {
		m.held = ""
	}
}

// answer says whether the hub should take it.
func (m *modelled) answer(now time.Time, outcome schema.Outcome, hold time.Duration) bool {
	switch {
	case m.outcome != "":
		return m.outcome == outcome // said again
	case m.held != "" && m.held != outcome:
		return false
	case m.held != "" && hold > 0:
		return true
	}
	until := now.Add(hold)
	if last := m.deadline.Add(-time.Second); until.After(last) {
		until = last
	}
	if m.held = ""; until.After(now) {
		m.held, m.until = outcome, until
	} else {
		m.outcome = outcome
	}
	return true
}

// TestHoldsKeepToTheModel plays at random with a few questions, restarts the hub
// in between, and finds every question as it should be after every step.
func TestHoldsKeepToTheModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
	clock := newClock()
	b := setup(t, clock.in)
	model := map[schema.EventID]*modelled{}
	var ids []schema.EventID
	for range 200 {
		if len(ids) < 4 || random.IntN(8) == 0 {
			seconds := 2 + random.IntN(30)
			id, _ := b.ask(fmt.Sprintf(`{"question":"q","type":"permission","timeout":%d}`, seconds))
			model[id] = &modelled{deadline: clock.now().Add(time.Duration(seconds) * time.Second)}
			ids = append(ids, id)
		}
		ids = ids[max(0, len(ids)-6):]
		id := ids[random.IntN(len(ids))]
		m, now := model[id], clock.now()
		switch random.IntN(8) {
		case 0, 1, 2:
			r, outcome := yes(), schema.Approve
			if random.IntN(2) == 0 {
				r, outcome = no(), schema.Deny
			}
			hold := time.Duration(random.IntN(3)*4) * time.Second
			_, err := b.Respond(t.Context(), id, held(r, hold), Caller{})
			require.Equal(t, m.answer(now, outcome, hold), err == nil, "%d: %v", id, err)
		case 3, 4:
			_, err := b.Undo(t.Context(), id, Caller{})
			require.Equal(t, m.held != "", err == nil, "%d: %v", id, err)
			m.held = ""
		case 5:
			_, err := b.Cancel(t.Context(), id, schema.Cancel{}, Caller{})
			require.Equal(t, m.outcome == "" || m.outcome == schema.Cancelled, err == nil, "%d: %v", id, err)
			if m.held = ""; m.outcome == "" {
				m.outcome = schema.Cancelled
			}
		case 6:
			clock.pass(time.Duration(random.IntN(4000)) * time.Millisecond)
			b.due()
		case 7:
			clock.pass(time.Duration(random.IntN(8000)) * time.Millisecond)
			if random.IntN(3) == 0 {
				require.NoError(t, b.Store.Close())
				b = open(t, b.path, clock.in)
			}
			b.due()
		}
		for _, id := range ids {
			m := model[id]
			m.pass(clock.now())
			st := b.status(id)
			require.Equal(t, m.outcome, st.Outcome, "%d", id)
			require.Equal(t, m.held != "", st.Held != nil, "%d", id)
			if st.Held != nil {
				require.Equal(t, m.held, st.Held.Outcome)
				require.Equal(t, m.until.UnixMilli(), int64(st.Held.Until))
				require.Less(t, st.Held.Until, st.ExpiresAt)
			}
		}
	}
}
