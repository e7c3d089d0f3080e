package hub

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestEveryEndTellsTheVotes(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	b.team("ada", "grace", "linus")
	for name, end := range map[string]func(id schema.EventID, secret string){
		"timeout": func(id schema.EventID, _ string) {
			clock.pass(301 * time.Second)
			b.due()
		},
		"cancel": func(id schema.EventID, _ string) {
			_, err := b.Cancel(t.Context(), id, schema.Cancel{Reason: "Not today."}, b.as("ada"))
			require.NoError(t, err)
		},
	} {
		id, secret := b.ask(ofThree)
		b.mustVote(id, "ada", said(yes(), "Fine by me."))
		end(id, secret)
		a := b.answer(id)
		require.False(t, *a.Permission, name)
		require.Equal(t, []string{"ada approve"}, names(a.Votes), name)
		require.Equal(t, []string{"grace", "linus"}, a.Awaiting, name)
		require.NotContains(t, a.Guidance, "Fine by me", name)
		if name == "timeout" {
			require.Equal(t, schema.Timeout, a.Outcome)
			require.Contains(t, a.Guidance, "2 had to (approve 1)")
			_, err := b.votes(id, "grace", yes())
			require.ErrorIs(t, err, schema.ErrExpired)
		}
	}
}

// A decisive vote can be held and undone; until it counts it is no vote.
func TestADecisiveVoteCanBeUndone(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	st := b.mustVote(id, "ada", held(yes(), 10*time.Second))
	require.Nil(t, st.Held, "one that does not decide counts at once")
	b.mustVote(id, "grace", no())
	st = b.mustVote(id, "grace", held(yes(), 10*time.Second))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, "grace", st.Held.By.Name)
	require.Equal(t, []string{"ada approve", "grace deny"}, names(st.Votes))
	_, err := b.votes(id, "linus", no())
	require.ErrorIs(t, err, schema.ErrHeld)
	_, err = b.Undo(t.Context(), id, b.as("linus"))
	require.ErrorIs(t, err, schema.ErrNotAllowed, "it is grace's vote")
	_, err = b.Undo(t.Context(), id, b.as("grace"))
	require.NoError(t, err)
	require.Equal(t, []string{"ada approve", "grace deny"}, names(b.status(id).Votes), "as they were")
	require.Equal(t, []string{"ada voted approve", "grace voted deny"}, b.acts(id))

	b.mustVote(id, "grace", held(yes(), 10*time.Second))
	require.NoError(t, b.Store.Close())
	dispatched := b.dispatched
	b = open(t, b.path, clock.in)
	b.knows()
	require.Empty(t, dispatched)
	clock.pass(10 * time.Second)
	b.due()
	st = b.status(id)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, []string{"ada approve", "grace approve"}, names(st.Votes))
	require.Equal(t, []string{"linus"}, st.Awaiting)
	require.Equal(t, []string{"grace voted approve", "grace ended approve"}, b.acts(id)[2:])

	// So can the last vote that leaves no majority, and one given again counts at once.
	id, _ = b.ask(release)
	b.mustVote(id, "ada", choose("ship_it"))
	b.mustVote(id, "grace", choose("abandon"))
	st = b.mustVote(id, "linus", held(choose("needs_revision"), 10*time.Second))
	require.Equal(t, schema.NoQuorum, st.Held.Outcome)
	require.Equal(t, st.Revision, b.mustVote(id, "linus", held(choose("needs_revision"), 10*time.Second)).Revision)
	st = b.mustVote(id, "linus", choose("needs_revision"))
	require.Equal(t, schema.NoQuorum, st.Outcome)
	require.Nil(t, st.Held)
}

// What is held is a vote for the call as it was: another call is not that.
func TestAnEditIsNotTheVoteThatIsHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(editable)
	b.mustVote(id, "ada", yes())
	st := b.mustVote(id, "grace", held(yes(), 10*time.Second))
	for _, hold := range []time.Duration{0, 10 * time.Second} {
		_, err := b.votes(id, "grace", held(edited(`{"command":"ls -l"}`, st.Revision), hold))
		require.ErrorIs(t, err, schema.ErrHeld)
	}
	require.Nil(t, b.status(id).Edited)
}

func TestAQuorumIsNeverApprovedInAList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	raw, err := b.Approve(t.Context(), &schema.Approvals{Requests: []schema.SeenRevision{{ID: id, Revision: 1}}}, b.as("ada"))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"code":"too_risky"`)
	require.Empty(t, b.status(id).Votes)
}

// Fifty vote at once: each vote counts or is told how it ended, and there is one end.
func TestFiftyVotersAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team := make([]string, 50)
	for i := range team {
		team[i] = fmt.Sprintf("p%02d", i)
	}
	b.team(team...)
	for _, need := range []int{20, 30} {
		id, _ := b.ask(fmt.Sprintf(`{"question":"q","type":"permission","requiredApprovals":%d,"responseWebSocketUrl":"ws://127.0.0.1:50123/secret"}`, need))
		var all sync.WaitGroup
		errs := make([]error, len(team))
		for i, name := range team {
			r, by := yes(), b.as(name)
			if i%2 == 0 {
				r = no()
			}
			all.Go(func() { _, errs[i] = b.Respond(t.Context(), id, r, by) })
		}
		all.Wait()
		st := b.status(id)
		require.True(t, st.Settled())
		counted := 0
		for i, err := range errs {
			if err == nil {
				counted++
				continue
			}
			require.True(t, i >= 0 && (schema.ProblemOf(err).Code == "decided" || schema.ProblemOf(err).Code == "expired"), "%v", err)
		}
		require.Len(t, st.Votes, counted)
		require.Len(t, b.dispatched, 1)
		b.dispatched = nil
		if need == 30 {
			require.Equal(t, schema.NoQuorum, st.Outcome)
			require.Equal(t, len(team), counted)
		} else {
			require.Equal(t, schema.ByQuorum, st.Source)
			require.Empty(t, winner(st.Votes[:len(st.Votes)-1], need), "the last one decided")
			require.Equal(t, string(st.Outcome), winner(st.Votes, need))
		}
		require.Len(t, b.acts(id), counted+1)
	}
}

// Half a quorum lives through a restart, and through a hub that was killed.
func TestHalfAQuorumAndARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(editable)
	b.mustVote(id, "ada", edited(`{"command":"ls -l"}`, 0))
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	b.knows()
	st := b.status(id)
	require.Equal(t, []string{"ada approve"}, names(st.Votes))
	require.Equal(t, []string{"grace", "linus"}, st.Awaiting)
	r := yes()
	r.Revision = st.Revision
	require.Equal(t, schema.Approve, b.mustVote(id, "linus", r).Outcome)
	require.JSONEq(t, `{"command":"ls -l"}`, string(b.answer(id).ModifiedArguments))
}

// Version 1 pages hear of a question twice, however many vote.
func TestVotesAreNoNewsToVersionOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.team("ada", "grace", "linus")
	id, _ := b.ask(ofThree)
	for _, r := range []*schema.Response{yes(), no(), yes(), no(), yes()} {
		b.mustVote(id, "ada", r)
	}
	b.mustVote(id, "grace", yes())
	frames, _, err := b.FramesAfter(t.Context(), 0)
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
