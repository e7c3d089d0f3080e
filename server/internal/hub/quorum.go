package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A quorum can become unreachable: a recipient is removed or may no longer answer, or the
// votes disagree. A question that no one can decide any more ends immediately as
// schema.NoQuorum, unless an escalation is still due, which may add recipients. The
// required approvals never shrink: that would weaken a control after it was set.

// currentVoters returns the recipients who may still vote. A later account of the same
// name does not count.
func (h *Hub) currentVoters(s *snapshot, st *schema.Status) []string {
	addressed := max(schema.Millis(s.Event.ReceivedAt.UnixMilli()), st.EscalatedAt)
	return slices.DeleteFunc(slices.Clone(st.Recipients), func(name string) bool { return !h.voteStillValid(name, addressed) })
}

// reachableVotes returns the highest number of votes that a choice can still get: those
// of the leading choice, and of the voters who have not voted.
func (s *snapshot) reachableVotes(votes []schema.Vote) int {
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
func (s *snapshot) isQuorumReachable(votes []schema.Vote) bool {
	return len(s.status.Recipients) == 0 || s.reachableVotes(votes) >= max(s.status.RequiredApprovals, 1)
}

// shortageReason returns why the quorum is unreachable. It is empty if everyone voted and
// could have agreed.
func (s *snapshot) shortageReason(votes []schema.Vote) string {
	need := max(s.status.RequiredApprovals, 1)
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

// endUnreachable ends the question if its quorum is unreachable. A deciding vote in its
// undo window stays: it becomes final or is undone first.
func (h *Hub) endUnreachable(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.IsSettled() || s.undoableAnswer != nil || !s.Timers.Escalate.IsZero() {
			return nil, nil
		}
		h.dropRevokedVotes(s)
		if s.isQuorumReachable(s.status.Votes) {
			return nil, nil
		}
		return s.noQuorumResolution(s.status.Votes).change(s, h.Clock())
	})
	return err
}

// noQuorumResolution returns the resolution of a question that no one can decide.
func (s *snapshot) noQuorumResolution(votes []schema.Vote) *resolution {
	return &resolution{
		state: outcomeState(schema.NoQuorum), outcome: schema.NoQuorum, source: schema.ByQuorum,
		reason: s.shortageReason(votes),
	}
}

// endUnreachableQuorums ends all pending questions whose quorum is unreachable.
func (h *Hub) endUnreachableQuorums(ctx context.Context) {
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		var st schema.Status
		if json.Unmarshal(e.Status, &st) == nil && len(st.Recipients) > 0 {
			err = errors.Join(err, h.endUnreachable(ctx, e.ID))
		}
	}
	if err != nil && ctx.Err() == nil {
		h.Log.Error("quorum check failed; a question that no one can decide may stay pending", "err", err)
	}
}
