package question

import (
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A quorum can become unreachable: a recipient is removed or may no longer answer, or the
// votes disagree. A question that no one can decide any more ends immediately as
// schema.NoQuorum, unless an escalation is still due, which may add recipients. The
// required approvals never shrink: that would weaken a control after it was set.

// requiresVotes reports whether the question is addressed to certain people or needs
// several approvals.
func requiresVotes(st *schema.Status) bool { return st.RequiredApprovals > 1 || len(st.Recipients) > 0 }

// addVote returns the votes with v, which replaces the same person's earlier vote.
func addVote(votes []schema.Vote, v schema.Vote) []schema.Vote {
	others := slices.DeleteFunc(slices.Clone(votes), func(old schema.Vote) bool { return old.User == v.User })
	return append(others, v)
}

// winner returns the choice that has the required votes, or "". The last vote decides,
// so there is at most one.
func winner(votes []schema.Vote, need int) string {
	counts := map[string]int{}
	for _, v := range votes {
		if counts[v.Choice]++; counts[v.Choice] >= need {
			return v.Choice
		}
	}
	return ""
}

// pendingVoters returns the recipients who have not voted.
func pendingVoters(recipients []string, votes []schema.Vote) []string {
	return slices.DeleteFunc(slices.Clone(recipients), func(name string) bool {
		return slices.ContainsFunc(votes, func(v schema.Vote) bool { return v.User == name })
	})
}

// hasVote reports whether votes contains v, regardless of its time.
func hasVote(votes []schema.Vote, v schema.Vote) bool {
	return slices.ContainsFunc(votes, func(old schema.Vote) bool {
		return old.User == v.User && old.Choice == v.Choice && old.Comment == v.Comment
	})
}

// setVotes sets the votes of a status (nil keeps them) and updates who is awaited.
func setVotes(st *schema.Status, votes []schema.Vote) {
	if votes != nil {
		st.Votes = votes
	}
	st.Awaiting = pendingVoters(st.Recipients, st.Votes)
}

// outcomeState returns the state of a question that people settled with this outcome.
func outcomeState(outcome schema.Outcome) schema.State {
	if outcome == schema.NoQuorum {
		return schema.Failed
	}
	return schema.Responded
}

// reachableVotes returns the highest number of votes that a choice can still get: those
// of the leading choice, and of the voters who have not voted.
func (s *Snapshot) reachableVotes(votes []schema.Vote) int {
	leading := 0
	counts := map[string]int{}
	for _, v := range votes {
		counts[v.Choice]++
		leading = max(leading, counts[v.Choice])
	}
	return leading + len(pendingVoters(s.voters, votes))
}

// isQuorumReachable reports whether a choice can still get the required votes. If
// everyone may vote, the voters are not listed, and the question waits for its deadline.
func (s *Snapshot) isQuorumReachable(votes []schema.Vote) bool {
	return len(s.Status.Recipients) == 0 || s.reachableVotes(votes) >= max(s.Status.RequiredApprovals, 1)
}

// shortageReason returns why the quorum is unreachable. It is empty if everyone voted and
// could have agreed.
func (s *Snapshot) shortageReason(votes []schema.Vote) string {
	need := max(s.Status.RequiredApprovals, 1)
	switch left := len(s.voters); {
	case left == 0:
		return personCount(need) + " had to agree and no recipient is left."
	case left == 1 && need > 1:
		return personCount(need) + " had to agree and only 1 recipient is left."
	case left < need:
		return fmt.Sprintf("%s had to agree and only %d recipients are left.", personCount(need), left)
	case len(pendingVoters(s.voters, votes)) > 0:
		return fmt.Sprintf("%s had to agree and at most %d still can.", personCount(need), s.reachableVotes(votes))
	default:
		return ""
	}
}

func personCount(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

// dropRevokedVotes removes the votes of people who may no longer vote, before another
// vote is counted with them.
func (s *Snapshot) dropRevokedVotes() {
	s.Status.Votes = slices.DeleteFunc(slices.Clone(s.Status.Votes), func(v schema.Vote) bool {
		return !s.env.canStillAnswer(v.User, int64(v.At))
	})
}

// tallyChange returns the change that stores the votes while no choice wins, and the record of the last one.
func (s *Snapshot) tallyChange(votes []schema.Vote, voted store.LedgerRecord) (*store.Change, error) {
	st := s.Status
	st.Held = nil
	setVotes(&st, votes)
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	if s.UndoWindow != nil {
		c.UndoWindow = &store.UndoWindow{}
	}
	c.Ledger = []store.LedgerRecord{voted}
	return c, nil
}
