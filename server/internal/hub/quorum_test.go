package hub

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// leadingVotes returns the number of votes of the leading choice.
func leadingVotes(votes []schema.Vote) (most int) {
	counts := map[string]int{}
	for _, v := range votes {
		counts[v.Choice]++
		most = max(most, counts[v.Choice])
	}
	return most
}

func TestQuorum_EveryResolutionReportsVotes(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	h.setPeople("ada", "grace", "linus")
	for name, end := range map[string]func(id schema.EventID, secret string){
		"timeout": func(id schema.EventID, _ string) {
			clock.advance(301 * time.Second)
			h.runDue()
		},
		"cancel": func(id schema.EventID, _ string) {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{Reason: "Not today."}, h.as("ada"))
			require.NoError(t, err)
		},
	} {
		id, secret := h.ask(twoOfThree)
		h.mustVote(id, "ada", withComment(approval(), "Fine by me."))
		end(id, secret)
		a := h.pullAnswer(id)
		require.False(t, *a.Permission, name)
		require.Equal(t, []string{"ada approve"}, voteSummaries(a.Votes), name)
		require.Equal(t, []string{"grace", "linus"}, a.Awaiting, name)
		require.NotContains(t, a.Guidance, "Fine by me", name)
		if name == "timeout" {
			require.Equal(t, schema.Timeout, a.Outcome)
			require.Contains(t, a.Guidance, "2 had to agree (approve 1)")
			_, err := h.vote(id, "grace", approval())
			require.ErrorIs(t, err, schema.ErrExpired)
		}
	}
}

// TestQuorum_DecisiveVoteCanBeUndone: a decisive vote has an undo window and is not a vote
// until the window ends.
func TestQuorum_DecisiveVoteCanBeUndone(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	st := h.mustVote(id, "ada", withHold(approval(), 10*time.Second))
	require.Nil(t, st.Held, "a vote that does not decide counts immediately")
	h.mustVote(id, "grace", denial())
	st = h.mustVote(id, "grace", withHold(approval(), 10*time.Second))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, "grace", st.Held.By.Name)
	require.Equal(t, []string{"ada approve", "grace deny"}, voteSummaries(st.Votes))
	_, err := h.vote(id, "linus", denial())
	require.ErrorIs(t, err, schema.ErrHeld)
	_, err = h.Undo(t.Context(), id, h.as("linus"))
	require.ErrorIs(t, err, schema.ErrNotAllowed, "only grace can undo her vote")
	_, err = h.Undo(t.Context(), id, h.as("grace"))
	require.NoError(t, err)
	require.Equal(t, []string{"ada approve", "grace deny"}, voteSummaries(h.status(id).Votes), "the earlier votes are restored")
	require.Equal(t, []string{"ada voted approve", "grace voted deny"}, h.ledgerLines(id))

	h.mustVote(id, "grace", withHold(approval(), 10*time.Second))
	require.NoError(t, h.Store.(store.Store).Close())
	dispatched := h.dispatched()
	h = openTestHub(t, h.path, clock.configure)
	h.loadPeople()
	require.Empty(t, dispatched)
	clock.advance(10 * time.Second)
	h.runDue()
	st = h.status(id)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, []string{"ada approve", "grace approve"}, voteSummaries(st.Votes))
	require.Equal(t, []string{"linus"}, st.Awaiting)
	require.Equal(t, []string{"grace voted approve", "grace ended approve"}, h.ledgerLines(id)[2:])

	// The last vote of a poll without agreement has an undo window too. The same vote without
	// a window counts immediately.
	id, _ = h.ask(choiceQuestion)
	h.mustVote(id, "ada", choose("ship_it"))
	h.mustVote(id, "grace", choose("abandon"))
	st = h.mustVote(id, "linus", withHold(choose("needs_revision"), 10*time.Second))
	require.Equal(t, schema.NoQuorum, st.Held.Outcome)
	require.Equal(t, st.Revision, h.mustVote(id, "linus", withHold(choose("needs_revision"), 10*time.Second)).Revision)
	st = h.mustVote(id, "linus", choose("needs_revision"))
	require.Equal(t, schema.NoQuorum, st.Outcome)
	require.Nil(t, st.Held)
}

// TestQuorum_HeldVoteRejectsEdit: a held vote is for the unedited call, so the voter cannot
// replace it by one for an edited call.
func TestQuorum_HeldVoteRejectsEdit(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(editableQuestion)
	h.mustVote(id, "ada", approval())
	st := h.mustVote(id, "grace", withHold(approval(), 10*time.Second))
	for _, hold := range []time.Duration{0, 10 * time.Second} {
		_, err := h.vote(id, "grace", withHold(editedApproval(`{"command":"ls -l"}`, st.Revision), hold))
		require.ErrorIs(t, err, schema.ErrHeld)
	}
	require.Nil(t, h.status(id).Edited)
}

func TestApprove_RejectsQuorumRequests(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	raw, err := h.ApproveAll(t.Context(), &schema.Approvals{Requests: []schema.SeenRevision{{ID: id, Revision: 1}}}, h.as("ada"))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"code":"too_risky"`)
	require.Empty(t, h.status(id).Votes)
}

// TestQuorum_ConcurrentVotesResolveOnce: each of fifty concurrent votes either counts or is
// refused with the outcome, and there is one resolution.
func TestQuorum_ConcurrentVotesResolveOnce(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	team := make([]string, 50)
	for i := range team {
		team[i] = fmt.Sprintf("p%02d", i)
	}
	h.setPeople(team...)
	for _, need := range []int{20, 30} {
		id, _ := h.ask(fmt.Sprintf(`{"question":"q","type":"permission","requiredApprovals":%d,"responseWebSocketUrl":"ws://127.0.0.1:50123/secret"}`, need))
		var all sync.WaitGroup
		errs := make([]error, len(team))
		for i, name := range team {
			r, by := approval(), h.as(name)
			if i%2 == 0 {
				r = denial()
			}
			all.Go(func() { _, errs[i] = h.Respond(t.Context(), id, r, by) })
		}
		all.Wait()
		st := h.status(id)
		require.True(t, st.IsSettled())
		counted := 0
		for i, err := range errs {
			if err == nil {
				counted++
				continue
			}
			require.True(t, i >= 0 && (schema.ProblemOf(err).Code == "decided" || schema.ProblemOf(err).Code == "expired"), "%v", err)
		}
		require.Len(t, st.Votes, counted)
		require.Len(t, h.dispatched(), 1)
		h.forgetDispatched()
		if need == 30 {
			require.Equal(t, schema.NoQuorum, st.Outcome)
			require.Less(t, leadingVotes(st.Votes)+len(team)-counted, need, "the other votes could not decide")
			require.GreaterOrEqual(t, leadingVotes(st.Votes[:counted-1])+len(team)-counted+1, need, "and not before the last vote")
		} else {
			require.Equal(t, schema.ByQuorum, st.Source)
			require.Empty(t, agreedChoice(st.Votes[:len(st.Votes)-1], need), "the last vote decided")
			require.Equal(t, string(st.Outcome), agreedChoice(st.Votes, need))
		}
		require.Len(t, h.ledgerLines(id), counted+1)
	}
}

// TestQuorum_SurvivesRestart: votes and edits of an undecided question survive a restart.
func TestQuorum_SurvivesRestart(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(editableQuestion)
	h.mustVote(id, "ada", editedApproval(`{"command":"ls -l"}`, 0))
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	h.loadPeople()
	st := h.status(id)
	require.Equal(t, []string{"ada approve"}, voteSummaries(st.Votes))
	require.Equal(t, []string{"grace", "linus"}, st.Awaiting)
	r := approval()
	r.Revision = st.Revision
	require.Equal(t, schema.Approve, h.mustVote(id, "linus", r).Outcome)
	require.JSONEq(t, `{"command":"ls -l"}`, string(h.pullAnswer(id).ModifiedArguments))
}

// TestQuorum_VersionOneSeesNoVotes: version 1 streams get a question when it is asked and
// when it is resolved, and no votes in between.
func TestQuorum_VersionOneSeesNoVotes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(twoOfThree)
	for _, r := range []*schema.Response{approval(), denial(), approval(), denial(), approval()} {
		h.mustVote(id, "ada", r)
	}
	h.mustVote(id, "grace", approval())
	frames, _, err := h.query.FramesAfter(t.Context(), 0)
	require.NoError(t, err)
	whole := 0
	for _, f := range frames {
		if !f.Status || f.End != nil {
			whole++
		}
	}
	require.Len(t, frames, 7)
	require.Equal(t, 2, whole)
}
