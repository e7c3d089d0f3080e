package hub

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// questionModel is an independent model of deadline, undo window and outcome.
type questionModel struct {
	deadline    time.Time
	outcome     schema.Outcome // empty: pending
	heldOutcome schema.Outcome // empty: no held answer
	heldUntil   time.Time
}

func (m *questionModel) advance(now time.Time) {
	switch {
	case m.outcome != "":
	case m.heldOutcome != "" && !now.Before(m.heldUntil):
		m.outcome = m.heldOutcome
	case !now.Before(m.deadline):
		m.outcome = schema.Timeout
	}
	if m.outcome != "" {
		m.heldOutcome = ""
	}
}

// respond applies an answer and reports whether the hub should accept it.
func (m *questionModel) respond(now time.Time, outcome schema.Outcome, hold time.Duration) bool {
	switch {
	case m.outcome != "":
		return m.outcome == outcome // a repeat
	case m.heldOutcome != "" && m.heldOutcome != outcome:
		return false
	case m.heldOutcome != "" && hold > 0:
		return true
	}
	until := now.Add(hold)
	if last := m.deadline.Add(-time.Second); until.After(last) {
		until = last
	}
	if m.heldOutcome = ""; until.After(now) {
		m.heldOutcome, m.heldUntil = outcome, until
	} else {
		m.outcome = outcome
	}
	return true
}

// TestUndoWindow_MatchesModel compares questions with their models after each of a series of
// random actions, clock steps and restarts.
func TestUndoWindow_MatchesModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	model := map[schema.EventID]*questionModel{}
	var ids []schema.EventID
	for range 200 {
		if len(ids) < 4 || random.IntN(8) == 0 {
			seconds := 2 + random.IntN(30)
			id, _ := h.ask(fmt.Sprintf(`{"question":"q","type":"permission","timeout":%d}`, seconds))
			model[id] = &questionModel{deadline: clock.now().Add(time.Duration(seconds) * time.Second)}
			ids = append(ids, id)
		}
		ids = ids[max(0, len(ids)-6):]
		id := ids[random.IntN(len(ids))]
		m, now := model[id], clock.now()
		switch random.IntN(8) {
		case 0, 1, 2:
			r, outcome := approval(), schema.Approve
			if random.IntN(2) == 0 {
				r, outcome = denial(), schema.Deny
			}
			hold := time.Duration(random.IntN(3)*4) * time.Second
			_, err := h.Respond(t.Context(), id, withHold(r, hold), Caller{})
			require.Equal(t, m.respond(now, outcome, hold), err == nil, "%d: %v", id, err)
		case 3, 4:
			_, err := h.Undo(t.Context(), id, Caller{})
			require.Equal(t, m.heldOutcome != "", err == nil, "%d: %v", id, err)
			m.heldOutcome = ""
		case 5:
			_, err := h.Cancel(t.Context(), id, schema.Cancel{}, Caller{})
			require.Equal(t, m.outcome == "" || m.outcome == schema.Cancelled, err == nil, "%d: %v", id, err)
			if m.heldOutcome = ""; m.outcome == "" {
				m.outcome = schema.Cancelled
			}
		case 6:
			clock.advance(time.Duration(random.IntN(4000)) * time.Millisecond)
			h.runDue()
		case 7:
			clock.advance(time.Duration(random.IntN(8000)) * time.Millisecond)
			if random.IntN(3) == 0 {
				require.NoError(t, h.Store.(store.Store).Close())
				h = openTestHub(t, h.path, clock.configure)
			}
			h.runDue()
		}
		for _, id := range ids {
			m := model[id]
			m.advance(clock.now())
			st := h.status(id)
			require.Equal(t, m.outcome, st.Outcome, "%d", id)
			require.Equal(t, m.heldOutcome != "", st.Held != nil, "%d", id)
			if st.Held != nil {
				require.Equal(t, m.heldOutcome, st.Held.Outcome)
				require.Equal(t, m.heldUntil.UnixMilli(), int64(st.Held.Until))
				require.Less(t, st.Held.Until, st.ExpiresAt)
			}
		}
	}
}
