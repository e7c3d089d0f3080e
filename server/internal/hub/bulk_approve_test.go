package hub

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (h *testHub) approve(list schema.Approvals) []schema.BatchResult {
	h.t.Helper()
	raw, err := h.ApproveAll(h.t.Context(), &list, Caller{})
	require.NoError(h.t, err)
	var results []schema.BatchResult
	require.NoError(h.t, json.Unmarshal(raw, &results))
	require.Len(h.t, results, len(list.Requests))
	return results
}

func TestApprove_ApprovesOnlyListedRevisions(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	ask := func(question string) schema.SeenRevision {
		id, _ := h.ask(question)
		return schema.SeenRevision{ID: id, Revision: 1}
	}
	const permission = `{"question":"q","type":"permission"`
	good, other := ask(permission+`}`), ask(permission+`,"risk":"medium"}`)
	unseen := ask(permission + `}`)
	decided := ask(permission + `}`)
	h.respond(decided.ID, denial())
	elsewhere := ask(permission + `}`)
	h.respond(elsewhere.ID, withHold(denial(), 20*time.Second))
	later := ask(permission + `}`)
	later.Revision = 7
	plain := h.post(eventWith(`"x":1`)).ID

	want := []struct {
		seen schema.SeenRevision
		err  error // nil: approved
	}{
		{good, nil},
		{ask(permission + `,"risk":"high"}`), schema.ErrRisky},
		{ask(permission + `,"risk":"critical"}`), schema.ErrRisky},
		{decided, schema.ErrDecided},
		{elsewhere, schema.ErrHeld},
		{later, schema.ErrStale},
		{ask(`{"question":"q","type":"question"}`), schema.ErrWrongAnswer},
		{ask(permission + `,"reasonRequired":"always"}`), schema.ErrWrongAnswer},
		{schema.SeenRevision{ID: plain}, schema.ErrNoQuestion},
		{schema.SeenRevision{ID: 999}, schema.ErrNotFound},
		{schema.SeenRevision{ID: -1}, schema.ErrNotFound},
		{other, nil},
		{good, nil}, // named twice
	}
	var list schema.Approvals
	for _, w := range want {
		list.Requests = append(list.Requests, w.seen)
	}
	until := schema.Millis(clock.now().Add(5 * time.Second).UnixMilli())
	for i, got := range h.approve(list) {
		if want[i].err != nil {
			require.NotNil(t, got.Problem, "%d", i)
			require.ErrorIs(t, got.Problem.Err(), want[i].err, "%d", i)
			continue
		}
		require.NotNil(t, got.Event, "%d: %v", i, got.Problem)
		require.Equal(t, want[i].seen.ID, got.Event.ID)
		require.Equal(t, schema.Pending, got.Event.HumanInTheLoopStatus.Status)
		require.Equal(t, until, got.Event.HumanInTheLoopStatus.Held.Until, "the default undo window is 5 s")
	}
	clock.advance(5 * time.Second)
	h.runDue()
	for _, w := range want {
		if w.err == nil {
			require.Equal(t, schema.Approve, h.status(w.seen.ID).Outcome)
		}
		if errors.Is(w.err, schema.ErrRisky) {
			require.Equal(t, schema.Pending, h.status(w.seen.ID).Status)
		}
	}
	require.Equal(t, schema.Pending, h.status(unseen.ID).Status, "a question that is not listed is not approved")
	require.Nil(t, h.status(unseen.ID).Held)
}

func TestApprove_AppliesReasonAndUndoWindow(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id, _ := h.ask(`{"question":"q","type":"permission","reasonRequired":"always"}`)
	got := h.approve(schema.Approvals{Requests: []schema.SeenRevision{{ID: id, Revision: 1}}, Reason: "all of today's", HoldMS: 1500})
	require.Equal(t, schema.Millis(clock.now().UnixMilli()+1500), got[0].Event.HumanInTheLoopStatus.Held.Until)
	clock.advance(2 * time.Second)
	h.runDue()
	require.Equal(t, "all of today's", h.status(id).Reason)
}

func TestApprove_RejectsInvalidLists(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one := []schema.SeenRevision{{ID: 1}}
	for field, list := range map[string]schema.Approvals{
		"requests": {},
		"reason":   {Requests: one, Reason: string(make([]byte, schema.MaxReason+1))},
		"holdMs":   {Requests: one, HoldMS: schema.MaxHold.Milliseconds() + 1},
	} {
		_, err := h.ApproveAll(t.Context(), &list, Caller{})
		require.ErrorIs(t, err, schema.ErrInvalid)
		require.Equal(t, field, schema.ProblemOf(err).Field)
	}
	_, err := h.ApproveAll(t.Context(), &schema.Approvals{Requests: make([]schema.SeenRevision, schema.MaxApprovals+1)}, Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid)
}
