package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// sharedQuestion is a question of the integration guide's sample client, whose listener matches
// answers by permission_type.
func sharedQuestion(app, session, permissionType, more string) string {
	return fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":%s},
		"humanInTheLoop":{"question":"May I?","type":"permission","choices":null,"timeout":300,"requiresResponse":true,"responseWebSocketUrl":"ws://localhost:50123"%s}}`,
		app, session, permissionType, more)
}

func (h *testHub) askShared(permissionType string) schema.EventID {
	h.t.Helper()
	id := h.post(sharedQuestion("a", "s", `"`+permissionType+`"`, "")).ID
	h.ResponseSent(id)
	return id
}

// TestSharedListener_NewQuestionEndsOlder: approving one of two questions must not resolve the
// agent's future for the other.
func TestSharedListener_NewQuestionEndsOlder(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first, other := h.askShared("env_file_access"), h.askShared("delete_files")
	second := h.askShared("env_file_access")
	st := h.status(first)
	require.Equal(t, schema.Failed, st.Status)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, schema.BySuperseded, st.Source)
	require.Equal(t, second, st.SupersededBy)
	require.Nil(t, st.RespondedBy)
	require.Equal(t, schema.NoDelivery, st.Delivery.State)
	require.Empty(t, h.dispatched(), "the listener would take it for the answer to the second question")
	require.Equal(t, []string{"hub ended __cancelled__"}, h.ledgerLines(first))
	require.Equal(t, schema.Pending, h.status(other).Status, "another permission type")
	require.Equal(t, schema.Pending, h.status(second).Status)

	_, err := h.Respond(t.Context(), first, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)
	_, err = h.Respond(t.Context(), second, approval(), Caller{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{second}, h.dispatched())
	third := h.askShared("env_file_access")
	require.Equal(t, schema.Approve, h.status(second).Outcome, "an answered question stays")
	require.Equal(t, schema.Pending, h.status(third).Status)

	frames, _, err := h.query.FramesAfter(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(frames, func(f feed.Frame) bool { return strings.Contains(string(f.End), `"source":"superseded"`) }), "version 1 pages see its end")
}

// TestSharedListener_StopsUnsentAnswer: an approval that could not be delivered yet must not reach
// the agent as the answer to its next question.
func TestSharedListener_StopsUnsentAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first, other := h.askShared("x"), h.askShared("y")
	for _, id := range []schema.EventID{first, other} {
		_, err := h.Respond(t.Context(), id, approval(), Caller{})
		require.NoError(t, err)
	}
	h.askShared("x")
	st := h.status(first)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, schema.TooLate, st.Delivery.State)
	require.Equal(t, "the agent asked another question of this kind", st.Delivery.LastError)
	require.Equal(t, schema.Queued, h.status(other).Delivery.State)
	due, _, err := h.Store.(store.Store).LeaseDeliveries(t.Context(), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{other}, due)
	_, err = h.Redeliver(t.Context(), first, Caller{})
	require.ErrorIs(t, err, schema.ErrNoRetry)
}

func TestSharedListener_OtherQuestionsStaySeparate(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	all := []string{
		sharedQuestion("a", "s", `"x"`, ""), sharedQuestion("b", "s", `"x"`, ""), sharedQuestion("a", "t", `"x"`, ""),
		sharedQuestion("a", "s", `"x"`, `,"protocolVersion":2`), sharedQuestion("a", "s", `"x"`, `,"protocolVersion":2`),
		sharedQuestion("a", "s", `""`, ""), sharedQuestion("a", "s", `""`, ""),
		sharedQuestion("a", "s", `7`, ""), sharedQuestion("a", "s", `7`, ""),
		sharedQuestion("a", "s", `null`, ""), sharedQuestion("a", "s", `null`, ""),
		strings.Replace(sharedQuestion("a", "s", `"x"`, ""), "responseWebSocketUrl", "x-poll", 1),
		strings.Replace(sharedQuestion("a", "s", `"x"`, ""), ":50123", ":50124", 1),
		strings.Replace(sharedQuestion("a", "s", `"x"`, ""), ":50123", ":50123/second", 1),
		strings.Replace(sharedQuestion("a", "s", `"y"`, ""), "permission_type", "permissionType", 1),
		strings.Replace(sharedQuestion("a", "s", `"y"`, ""), "permission_type", "permissionType", 1),
	}
	var ids []schema.EventID
	for _, body := range all {
		ids = append(ids, h.post(body).ID)
	}
	for i, id := range ids {
		require.Equal(t, schema.Pending, h.status(id).Status, all[i])
	}
}

// TestSharedListener_HasManySpellings: one listener must not get two open questions by another spelling of its address.
func TestSharedListener_HasManySpellings(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var older schema.EventID
	for _, address := range []string{
		"ws://localhost:50123", "ws://localhost:50123/", "ws://LOCALHOST:50123", "ws://localhost.:50123", "ws://127.0.0.1:50123",
		"ws://[::1]:50123/", "wss://localhost:50123",
	} {
		id := h.post(strings.Replace(sharedQuestion("a", "s", `"x"`, ""), "ws://localhost:50123", address, 1)).ID
		if older != 0 {
			require.Equal(t, id, h.status(older).SupersededBy, address)
		}
		older = id
	}
}

// TestSharedListener_ConcurrentQuestionsLeaveOne: one transaction stores a question and ends the
// older one, also within one group commit and one batch.
func TestSharedListener_ConcurrentQuestionsLeaveOne(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var each sync.WaitGroup
	for range 40 {
		each.Go(func() { _, _ = h.Ingest(t.Context(), []byte(sharedQuestion("new app", "s", `"x"`, "")), Caller{}) })
	}
	each.Wait()
	pending, err := h.Store.Pending(t.Context())
	require.NoError(t, err)
	require.Len(t, pending, 1)
	body := sharedQuestion("another app", "new session", `"x"`, "")
	raw, ids, err := h.IngestBatch(t.Context(), []byte("["+body+","+body+","+body+"]"), Caller{})
	require.NoError(t, err)
	require.Len(t, ids, 3, string(raw))
	require.Equal(t, ids[1], h.status(ids[0]).SupersededBy)
	require.Equal(t, ids[2], h.status(ids[1]).SupersededBy)
	last := h.status(ids[2])
	require.Equal(t, schema.Pending, last.Status)
	require.Zero(t, last.SameAs, "it leads the group that it joined")
	require.Zero(t, last.Waiters)
}

// TestSharedListener_DropsUndoableAnswer: an answer in its undo window does not reach the newer
// question.
func TestSharedListener_DropsUndoableAnswer(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	first := h.askShared("x")
	h.respond(first, withHold(approval(), 10*time.Second))
	h.askShared("x")
	clock.advance(11 * time.Second)
	h.runDue()
	st := h.status(first)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Nil(t, st.Held)
	require.Empty(t, h.dispatched())
	raw, err := h.Pull(t.Context(), first, PullOptions{})
	require.NoError(t, err)
	var a schema.Answer
	require.NoError(t, json.Unmarshal(raw, &a))
	require.False(t, *a.Permission)
	require.Contains(t, a.Guidance, "Nothing was approved")
}
