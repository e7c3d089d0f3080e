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
	"github.com/hookback/hookback/server/internal/redact"
)

const sameCall = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:%d/secret","toolCall":{"name":"Bash","arguments":{"command":"npm test"}}%s}`

// asksAgain asks the same by another port.
func (b *bench) asksAgain(port int, more ...string) schema.EventID {
	b.t.Helper()
	id, _ := b.ask(fmt.Sprintf(sameCall, port, strings.Join(append([]string{""}, more...), ",")))
	return id
}

// said are the states of questions, in words: what they are, and as which of them they
// count, from 1.
func (b *bench) said(ids ...schema.EventID) (words []string) {
	b.t.Helper()
	for _, id := range ids {
		st := b.status(id)
		word := string(st.Status)
		if st.Settled() {
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

func seen(revision int64, r *schema.Response) *schema.Response {
	r.Revision = revision
	return r
}

func TestOneAnswerForAllThatWereSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.asksAgain(50001), b.asksAgain(50002)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, b.said(one, two))
	shown := b.status(one).Revision
	late := b.asksAgain(50003)
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, b.said(one, two, late))

	_, err := b.Respond(t.Context(), one, seen(shown, yes()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"approve ×3", "approve as 1", "pending"}, b.said(one, two, late), "nobody saw the third")
	first, second := b.status(one), b.status(two)
	require.Equal(t, first.RespondedBy, second.RespondedBy)
	require.NotEqual(t, first.Response.AnswerID, second.Response.AnswerID, "each has an answer of its own")
	require.Equal(t, schema.Queued, second.Delivery.State)
	b.mu.Lock()
	require.ElementsMatch(t, []schema.EventID{one, two}, b.dispatched, "and each is dialled")
	b.mu.Unlock()

	again := b.asksAgain(50004)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, b.said(late, again))
	_, err = b.Respond(t.Context(), late, no(), Caller{}) // says nothing of what was seen
	require.NoError(t, err)
	require.Equal(t, []string{"deny ×2", "pending"}, b.said(late, again))
}

func TestWhatIsNotTheSameStandsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Redactor = redact.New(redact.Options{}) })
	ask := func(app, session, question string) schema.EventID {
		return b.post(fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":%s}`, app, session, question)).ID
	}
	plain := fmt.Sprintf(sameCall, 50001, "")
	secret := strings.Replace(plain, "npm test", "API_KEY=ghp_abcdefghijklmnopqrstuvwxyz0123456789 npm test", 1)
	questions := []schema.EventID{
		ask("a", "s", plain), ask("b", "s", plain), ask("a", "t", plain),
		ask("a", "s", strings.Replace(plain, "May I?", "May I now?", 1)),
		ask("a", "s", strings.Replace(plain, "npm test", "npm  test", 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"context":{"cwd":"/elsewhere"},"type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type"`, `"risk":"medium","type"`, 1)),
		ask("a", "s", strings.Replace(plain, `"type":"permission"`, `"type":"choice","choices":["a","b"]`, 1)),
		ask("a", "s", strings.Replace(plain, `"type":"permission"`, `"type":"choice","choices":["a","c"]`, 1)),
		ask("a", "s", pullOne), ask("a", "s", pullOne), // about no call
		ask("a", "s", secret), ask("a", "s", secret), // what was taken out may differ
	}
	for i, word := range b.said(questions...) {
		require.Equal(t, "pending", word, i)
	}
}

// TestFiftyAtOnce: all are counted, and one answer is for all.
func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 50
	var each sync.WaitGroup
	for i := range n {
		each.Go(func() {
			saved, err := b.Ingest(t.Context(), []byte(with(`"humanInTheLoop":`+fmt.Sprintf(sameCall, 50001+i, ""))), Caller{})
			if err == nil {
				b.ResponseSent(saved.ID)
			}
		})
	}
	each.Wait()
	pending, err := b.Store.Pending(t.Context())
	require.NoError(t, err)
	require.Len(t, pending, n)
	first := pending[0].ID
	st := b.status(first)
	require.Equal(t, n, st.Waiters)
	_, err = b.Respond(t.Context(), first, seen(st.Revision, yes()), Caller{})
	require.NoError(t, err)
	answers := map[string]bool{}
	for _, e := range pending {
		st := b.status(e.ID)
		require.Equal(t, schema.Approve, st.Outcome, e.ID)
		answers[st.Response.AnswerID] = true
	}
	require.Len(t, answers, n)
}

// TestManyLeaveAtOnce: every withdrawal counts, whoever is the first by then.
func TestManyLeaveAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 20
	ids, secrets := make([]schema.EventID, n), make([]string, n)
	for i := range n {
		ids[i], secrets[i] = b.ask(fmt.Sprintf(sameCall, 50001+i, ""))
	}
	var each sync.WaitGroup
	failed := make([]error, n)
	for i := range n - 3 {
		each.Go(func() {
			_, failed[i] = b.Cancel(t.Context(), ids[i], schema.Cancel{RequestSecret: secrets[i]}, Caller{})
		})
	}
	each.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, b.said(ids[n-3:]...))
}

func TestOneThatEndsAloneLeavesTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, secretOne := b.ask(fmt.Sprintf(sameCall, 50001, ""))
	two, secretTwo := b.ask(fmt.Sprintf(sameCall, 50002, ""))
	three, four := b.asksAgain(50003), b.asksAgain(50004)
	withdraw := func(id schema.EventID, secret string) {
		_, err := b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
		require.NoError(t, err)
	}
	withdraw(two, secretTwo)
	require.Equal(t, []string{"pending ×3", "__withdrawn__ as 1", "pending as 1", "pending as 1"}, b.said(one, two, three, four))
	before := b.status(one).Revision
	withdraw(one, secretOne)
	require.Equal(t, []string{"__withdrawn__ ×3", "pending ×2", "pending as 2"}, b.said(one, three, four), "the next one stands for the others")
	_, err := b.Respond(t.Context(), one, seen(before, yes()), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired, "who answers what was withdrawn answers nothing")
	require.Equal(t, []string{"pending ×2", "pending as 1"}, b.said(three, four))

	_, err = b.Respond(t.Context(), four, no(), Caller{}) // one of them, by itself
	require.NoError(t, err)
	require.Equal(t, []string{"pending", "deny as 1"}, b.said(three, four))
	_, err = b.Respond(t.Context(), three, seen(b.status(three).Revision, yes()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"approve", "deny as 1"}, b.said(three, four))
}

func TestCancellingTheCardCancelsAllOnIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.asksAgain(50001), b.asksAgain(50002)
	_, err := b.Cancel(t.Context(), one, schema.Cancel{Reason: "not now"}, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"__cancelled__ ×2", "__cancelled__ as 1"}, b.said(one, two))
	require.Equal(t, "not now", b.status(two).Reason)
}

// TestAHeldAnswerIsForAllThatWereSeen: undone for all, or given to all when its time is
// over, after a restart in between, too.
func TestAHeldAnswerIsForAllThatWereSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.asksAgain(50001), b.asksAgain(50002)
	held := seen(b.status(one).Revision, yes())
	held.HoldMS = 30_000
	_, err := b.Respond(t.Context(), one, held, Caller{})
	require.NoError(t, err)
	_, err = b.Undo(t.Context(), one, Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, b.said(one, two))

	held = seen(b.status(one).Revision, yes())
	held.HoldMS = 30_000
	_, err = b.Respond(t.Context(), one, held, Caller{})
	require.NoError(t, err)
	late, other := b.asksAgain(50003), b.asksAgain(50004)
	refused := no()
	refused.HoldMS = 30_000
	_, err = b.Respond(t.Context(), other, refused, Caller{})
	require.NoError(t, err)
	require.NoError(t, b.Store.Close())

	b = open(t, b.path, func(c *Config) { c.Clock = func() time.Time { return time.Now().Add(31 * time.Second) } })
	b.ends()
	b.settled(one)
	b.settled(other)
	require.Equal(t, []string{"approve ×4", "approve as 1", "pending"}, b.said(one, two, late))
	require.Equal(t, schema.Deny, b.status(other).Outcome, "its own answer")
}

// TestGroupsAreWholeAfterARestart: whatever was stored is one group, and goes on as one.
func TestGroupsAreWholeAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.asksAgain(50001), b.asksAgain(50002)
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	three := b.asksAgain(50003)
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, b.said(one, two, three))
	_, err := b.Respond(t.Context(), one, seen(b.status(one).Revision, no()), Caller{})
	require.NoError(t, err)
	require.Equal(t, []string{"deny ×3", "deny as 1", "deny as 1"}, b.said(one, two, three))
}

func TestABatchOfTheSameIsOneCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	event := with(`"humanInTheLoop":` + fmt.Sprintf(sameCall, 50001, ""))
	raw, ids, err := b.IngestBatch(t.Context(), []byte("["+event+","+event+","+event+"]"), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Equal(t, ids[0], results[2].Event.HumanInTheLoopStatus.SameAs, "its poster is told, too")
	require.Equal(t, []string{"pending ×3", "pending as 1", "pending as 1"}, b.said(ids...))
}

// TestARepeatedPostIsNoSecondWaiter: one who sends his question again asks once.
func TestARepeatedPostIsNoSecondWaiter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.post(with(keyed + fmt.Sprintf(sameCall, 50001, ""))).ID
	require.Equal(t, one, b.post(with(keyed+fmt.Sprintf(sameCall, 50002, ""))).ID)
	require.Equal(t, []string{"pending"}, b.said(one))
}

// TestMoreTimeIsForAllOnTheCard: nobody gives more time to one of five that look the
// same.
func TestMoreTimeIsForAllOnTheCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const v2 = `"protocolVersion":2,"listenerKey":"k"`
	one, two := b.asksAgain(50001, v2), b.asksAgain(50002, v2)
	before := b.status(two).ExpiresAt
	_, err := b.Extend(t.Context(), one, &schema.Extend{Seconds: 600}, Caller{})
	require.NoError(t, err)
	require.Equal(t, before+600_000, b.status(two).ExpiresAt)
	require.Equal(t, []string{"pending ×2", "pending as 1"}, b.said(one, two))
}
