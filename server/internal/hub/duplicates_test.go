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
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

const duplicateQuestion = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:%d/secret","toolCall":{"name":"Bash","arguments":{"command":"npm test"}}%s}`

// askDuplicate asks duplicateQuestion with a listener on the given port.
func (h *testHub) askDuplicate(port int, more ...string) schema.EventID {
	h.t.Helper()
	id, _ := h.ask(fmt.Sprintf(duplicateQuestion, port, strings.Join(append([]string{""}, more...), ",")))
	return id
}

// summaries describes questions, such as "pending ×2" for a leader of a group of two and
// "pending as 1" for a duplicate of the first question in ids.
func (h *testHub) summaries(ids ...schema.EventID) (words []string) {
	h.t.Helper()
	for _, id := range ids {
		st := h.status(id)
		word := string(st.Status)
		if st.IsSettled() {
			word = string(st.Outcome)
		}
		if st.Waiters > 0 {
			word += fmt.Sprintf(" ×%d", st.Waiters)
		}
		if st.SameAs > 0 {
			word += fmt.Sprintf(" as %d", 1+slices.Index(ids, st.SameAs))
		}
		words = append(words, word)
	}
	return words
}

func withRevision(revision int64, r *schema.Response) *schema.Response {
	r.Revision = revision
	return r
}

func TestDuplicates_AnswerCoversSeenMembers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two := h.askDuplicate(50001), h.askDuplicate(50002)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(one, two))
	shown := h.status(one).Revision
	late := h.askDuplicate(50003)
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, h.summaries(one, two, late))

	_, err := h.Respond(t.Context(), one, withRevision(shown, approval()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"approve ×3", "approve as 1", "pending"}, h.summaries(one, two, late), "the third was not in the revision that was answered")
	first, second := h.status(one), h.status(two)
	require.Equal(t, first.RespondedBy, second.RespondedBy)
	require.NotEqual(t, first.Response.AnswerID, second.Response.AnswerID, "each has its own answer id")
	require.Equal(t, schema.Queued, second.Delivery.State)
	h.mu.Lock()
	require.ElementsMatch(t, []schema.EventID{one, two}, h.dispatched(), "both are dispatched")
	h.mu.Unlock()

	again := h.askDuplicate(50004)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(late, again))
	_, err = h.Respond(t.Context(), late, denial(), Caller{}) // without a revision
	require.NoError(t, err)
	require.Equal(t, []string{"deny ×2", "pending"}, h.summaries(late, again))
}

func TestDuplicates_DifferentQuestionsStaySeparate(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Redactor = redact.New() })
	ask := func(app, session, question string) schema.EventID {
		return h.post(fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":%s}`, app, session, question)).ID
	}
	plain := fmt.Sprintf(duplicateQuestion, 50001, "")
	secret := strings.Replace(plain, "npm test", "API_KEY=ghp_abcdefghijklmnopqrstuvwxyz0123456789 npm test", 1)
	questions := []schema.EventID{
		ask("a", "s", plain), ask("b", "s", plain), ask("a", "t", plain),
		ask("a", "s", strings.Replace(plain, "May I?", "May I now?", 1)),
		ask("a", "s", strings.Replace(plain, "npm test", "npm  test", 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"context":{"cwd":"/elsewhere"},"type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"context":{"commit":"`+strings.Repeat("a", 40)+`"},"type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"context":{"commit":"`+strings.Repeat("b", 40)+`"},"type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"risk":"medium","type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type":"permission"`, `"type":"choice","choices":["a","b"]`, 1)),
		ask("a", "s", strings.Replace(plain, `"type":"permission"`, `"type":"choice","choices":["a","c"]`, 1)),
		ask("a", "s", pullQuestion), ask("a", "s", pullQuestion), // without a call
		ask("a", "s", secret), ask("a", "s", secret), // the redacted parts may differ
	}
	for i, word := range h.summaries(questions...) {
		require.Equal(t, "pending", word, i)
	}
}

// TestDuplicates_ConcurrentPostsFormOneGroup: all are counted, and one answer covers all.
func TestDuplicates_ConcurrentPostsFormOneGroup(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const n = 50
	var each sync.WaitGroup
	for i := range n {
		each.Go(func() {
			saved, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":`+fmt.Sprintf(duplicateQuestion, 50001+i, ""))), Caller{})
			if err == nil {
				h.ResponseSent(saved.ID)
			}
		})
	}
	each.Wait()
	pending, err := h.Store.Pending(t.Context())
	require.NoError(t, err)
	require.Len(t, pending, n)
	first := pending[0].ID
	st := h.status(first)
	require.Equal(t, n, st.Waiters)
	_, err = h.Respond(t.Context(), first, withRevision(st.Revision, approval()), Caller{})
	require.NoError(t, err)
	answers := map[string]bool{}
	for _, e := range pending {
		st := h.status(e.ID)
		require.Equal(t, schema.Approve, st.Outcome, e.ID)
		answers[st.Response.AnswerID] = true
	}
	require.Len(t, answers, n)
}

// TestDuplicates_ConcurrentWithdrawalsAreCounted: every withdrawal leaves the group, even
// while the leader changes.
func TestDuplicates_ConcurrentWithdrawalsAreCounted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const n = 20
	ids, secrets := make([]schema.EventID, n), make([]string, n)
	for i := range n {
		ids[i], secrets[i] = h.ask(fmt.Sprintf(duplicateQuestion, 50001+i, ""))
	}
	var each sync.WaitGroup
	failed := make([]error, n)
	for i := range n - 3 {
		each.Go(func() {
			_, failed[i] = h.Cancel(t.Context(), ids[i], schema.Cancel{RequestSecret: secrets[i]}, Caller{})
		})
	}
	each.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, h.summaries(ids[n-3:]...))
}

func TestDuplicates_MemberResolvesAlone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, secretOne := h.ask(fmt.Sprintf(duplicateQuestion, 50001, ""))
	two, secretTwo := h.ask(fmt.Sprintf(duplicateQuestion, 50002, ""))
	three, four := h.askDuplicate(50003), h.askDuplicate(50004)
	withdraw := func(id schema.EventID, secret string) {
		_, err := h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
		require.NoError(t, err)
	}
	withdraw(two, secretTwo)
	require.Equal(t, []string{"pending ×3", "__withdrawn__ as 1", "pending as 1", "pending as 1"}, h.summaries(one, two, three, four))
	before := h.status(one).Revision
	withdraw(one, secretOne)
	require.Equal(t, []string{"__withdrawn__ ×3", "pending ×2", "pending as 2"}, h.summaries(one, three, four), "the next question becomes the leader")
	_, err := h.Respond(t.Context(), one, withRevision(before, approval()), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired, "an answer to the withdrawn leader does not reach the group")
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(three, four))

	_, err = h.Respond(t.Context(), four, denial(), Caller{}) // a duplicate by itself
	require.NoError(t, err)
	require.Equal(t, []string{"pending", "deny as 1"}, h.summaries(three, four))
	_, err = h.Respond(t.Context(), three, withRevision(h.status(three).Revision, approval()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"approve", "deny as 1"}, h.summaries(three, four))
}

// setWaiter stores the liveness of a question's agent, as the prober does.
func (h *testHub) setWaiter(id schema.EventID, waiter schema.Waiter) {
	h.t.Helper()
	_, err := h.transition(h.t.Context(), id, func(s *question.Snapshot) (*store.Change, error) {
		st := s.Status
		st.Waiter = waiter
		return statusChange(s, st)
	})
	require.NoError(h.t, err)
}

func TestDuplicates_CancelCoversSeenMembers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two := h.askDuplicate(50001), h.askDuplicate(50002)
	seen := h.status(one).Revision
	late := h.askDuplicate(50003)
	_, err := h.Cancel(t.Context(), one, schema.Cancel{Revision: h.status(one).Revision + 1}, Caller{})
	require.ErrorIs(t, err, schema.ErrStale, "a revision of another database")
	_, err = h.Cancel(t.Context(), one, schema.Cancel{Reason: "not now", Revision: seen}, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"__cancelled__ ×3", "__cancelled__ as 1", "pending"}, h.summaries(one, two, late))
	require.Equal(t, "not now", h.status(two).Reason)

	again, lost := h.askDuplicate(50004), h.askDuplicate(50005)
	h.setWaiter(lost, schema.Lost)
	_, err = h.Cancel(t.Context(), late, schema.Cancel{Revision: h.status(late).Revision}, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"__cancelled__ ×3", "__cancelled__ as 1", "pending"}, h.summaries(late, again, lost), "no agent waits for the last one")
}

func TestDuplicates_CancelWithoutRevisionCoversOne(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two, three := h.askDuplicate(50001), h.askDuplicate(50002), h.askDuplicate(50003)
	_, err := h.Cancel(t.Context(), one, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"__cancelled__ ×3", "pending ×2", "pending as 2"}, h.summaries(one, two, three))
}

// TestDuplicates_LostLeaderGivesWay: a killed agent's card neither hides the question of a live
// agent nor cancels it.
func TestDuplicates_LostLeaderGivesWay(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	killed, live := h.askDuplicate(50001), h.askDuplicate(50002)
	shown := h.status(killed).Revision
	h.setWaiter(killed, schema.Lost)
	require.Equal(t, []string{"pending as 2", "pending ×2"}, h.summaries(killed, live))
	_, err := h.Cancel(t.Context(), killed, schema.Cancel{Revision: shown}, Caller{})
	require.NoError(t, err, "a page that still shows the old card")
	require.Equal(t, []string{"__cancelled__ as 2", "pending"}, h.summaries(killed, live))
	_, err = h.Respond(t.Context(), live, approval(), Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Approve, h.status(live).Outcome)
}

// TestDuplicates_HeldAnswerKeepsLostLeader: the answer in the undo window still covers the members
// that the person saw.
func TestDuplicates_HeldAnswerKeepsLostLeader(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	one, two := h.askDuplicate(50001), h.askDuplicate(50002)
	st := h.respond(one, withHold(withRevision(h.status(one).Revision, approval()), 10*time.Second))
	require.NotNil(t, st.Held)
	h.setWaiter(one, schema.Lost)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(one, two))
	clock.advance(10 * time.Second)
	h.runDue()
	require.Equal(t, []string{"approve ×2", "approve as 1"}, h.summaries(one, two))
}

// TestDuplicates_HeldAnswerCoversSeenMembers: a held answer is undone for all, or applied
// to all when the undo window ends, even after a restart.
func TestDuplicates_HeldAnswerCoversSeenMembers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two := h.askDuplicate(50001), h.askDuplicate(50002)
	held := withRevision(h.status(one).Revision, approval())
	held.HoldMS = 30_000
	_, err := h.Respond(t.Context(), one, held, Caller{})
	require.NoError(t, err)
	_, err = h.Undo(t.Context(), one, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(one, two))

	held = withRevision(h.status(one).Revision, approval())
	held.HoldMS = 30_000
	_, err = h.Respond(t.Context(), one, held, Caller{})
	require.NoError(t, err)
	late, other := h.askDuplicate(50003), h.askDuplicate(50004)
	refused := denial()
	refused.HoldMS = 30_000
	_, err = h.Respond(t.Context(), other, refused, Caller{})
	require.NoError(t, err)
	require.NoError(t, h.Store.(store.Store).Close())

	h = openTestHub(t, h.path, func(c *Config) { c.Clock = func() time.Time { return time.Now().Add(31 * time.Second) } })
	h.startDeadlines()
	h.awaitSettled(one)
	h.awaitSettled(other)
	require.Equal(t, []string{"approve ×4", "approve as 1", "pending"}, h.summaries(one, two, late))
	require.Equal(t, schema.Deny, h.status(other).Outcome, "its own held answer")
}

// TestDuplicates_SurviveRestart: stored duplicates are still one group and take new members.
func TestDuplicates_SurviveRestart(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two := h.askDuplicate(50001), h.askDuplicate(50002)
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	three := h.askDuplicate(50003)
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, h.summaries(one, two, three))
	_, err := h.Respond(t.Context(), one, withRevision(h.status(one).Revision, denial()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"deny ×3", "deny as 1", "deny as 1"}, h.summaries(one, two, three))
}

func TestDuplicates_BatchFormsOneGroup(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	event := eventWith(`"humanInTheLoop":` + fmt.Sprintf(duplicateQuestion, 50001, ""))
	raw, ids, err := h.IngestBatch(t.Context(), []byte("["+event+","+event+","+event+"]"), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Equal(t, ids[0], results[2].Event.HumanInTheLoopStatus.SameAs, "the response to the POST names the leader")
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, h.summaries(ids...))
}

// TestDuplicates_RepeatedPostAddsNoWaiter: a retry with the same idempotency key is not a
// second question.
func TestDuplicates_RepeatedPostAddsNoWaiter(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one := h.post(eventWith(keyedQuestion + withSecret(fmt.Sprintf(duplicateQuestion, 50001, ""), ownSecret))).ID
	require.Equal(t, one, h.post(eventWith(keyedQuestion+withSecret(fmt.Sprintf(duplicateQuestion, 50002, ""), ownSecret))).ID)
	require.Equal(t, []string{"pending"}, h.summaries(one))
}

// TestDuplicates_ExtendCoversGroup: the UI shows the group as one request, so more time
// applies to all of it.
func TestDuplicates_ExtendCoversGroup(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const v2 = `"protocolVersion":2,"listenerKey":"k"`
	one, two := h.askDuplicate(50001, v2), h.askDuplicate(50002, v2)
	before := h.status(two).ExpiresAt
	_, err := h.Extend(t.Context(), one, &schema.Extend{Seconds: 600}, Caller{})
	require.NoError(t, err)
	require.Equal(t, before+600_000, h.status(two).ExpiresAt)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, h.summaries(one, two))
}
