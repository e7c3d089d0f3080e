package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Duplicates: identical questions about the same call that are pending in one session
// form a group, which the dashboard shows as one request. The first question is the
// group leader. Its status counts the group in Waiters, and every duplicate that joins
// creates a new revision of it. The revision of an answer therefore shows which
// duplicates the person saw. The answer settles those, each with its own answer and
// delivery, and later ones stay pending. So does a cancellation that names a revision. Any
// other resolution settles only one question. The leader of a group is a question whose
// agent waits, if there is one (store).

// duplicate is a later question of the group.
type duplicate struct {
	*snapshot
	joinedRevision int64 // first revision of the leader that counts it
}

// duplicateKey returns a hash of the question's content. It is nil if the question
// can't join a group: it is not about a tool call, it is addressed to certain people,
// or it contains redacted text, which may differ between questions that look equal.
func duplicateKey(d *store.EventDraft, q *schema.HumanInTheLoop, st *schema.Status, requester string) []byte {
	c, ok := toolCallOf(d, q)
	multiple := q.RequiredApprovals > 1 || q.Recipients != nil && q.Recipients.Mode != "" && q.Recipients.Mode != "anyone" || q.EscalateTo != nil
	if !ok || multiple || len(st.Recipients) > 0 || bytes.Contains(d.Question, []byte(schema.RedactedPrefix)) || bytes.Contains(c.arguments, []byte(schema.RedactedPrefix)) {
		return nil
	}
	commit := "" // the receipt of each member names its own
	if q.Context != nil {
		commit = q.Context.Commit
	}
	raw, err := json.Marshal([]any{
		d.App, d.Session, d.Type, q.Type, q.Question, q.Choices, q.Questions, c.hash(), c.cwd, q.ToolCall != nil && q.ToolCall.Editable,
		q.ReasonRequired, q.Suggestions, st.Risk, q.Risk, requester, commit,
	})
	if err != nil { // unreachable: validation rejects suggestions that are not JSON
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:16]
}

// duplicates reads the other questions of the group that s leads.
func (h *Hub) duplicates(ctx context.Context, s *snapshot) ([]duplicate, error) {
	if s.status.IsSettled() || s.status.Waiters < 2 {
		return nil, nil
	}
	list, err := h.Store.GroupMembers(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	members := make([]duplicate, 0, len(list))
	for _, m := range list {
		dup, err := h.readSnapshot(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		members = append(members, duplicate{dup, m.Joined})
	}
	return members, nil
}

// answeredDuplicates returns the pending duplicates that an answer to the leader at the
// given revision covers. A duplicate whose own answer is in its undo window keeps that
// answer.
func (s *snapshot) answeredDuplicates(revision int64) (list []*snapshot) {
	for _, m := range s.duplicates {
		if m.joinedRevision <= revision && !m.status.IsSettled() && m.undoableAnswer == nil {
			list = append(list, m.snapshot)
		}
	}
	return list
}

// excludeLost removes the duplicates whose agents are lost: a cancellation tells waiting
// agents not to go ahead.
func (s *snapshot) excludeLost() {
	s.duplicates = slices.DeleteFunc(s.duplicates, func(m duplicate) bool { return m.status.Waiter == schema.Lost })
}

// excludeSelfApproved removes the duplicates that the responder may not answer, and
// those whose answer would be a self-approval when the leader's is not, or the reverse.
func (h *Hub) excludeSelfApproved(s *snapshot, from responder, by *schema.Responder) {
	s.duplicates = slices.DeleteFunc(s.duplicates, func(m duplicate) bool {
		ownBy, err := h.authorizeResponder(m.snapshot, from)
		return err != nil || ownBy.SelfApproval != by.SelfApproval
	})
}

// extendDuplicates applies the same extension to the duplicates of a question, if their
// agents can be notified.
func (h *Hub) extendDuplicates(ctx context.Context, list []duplicate, x *schema.Extend, caller Caller) {
	for _, m := range list {
		if _, err := h.Extend(ctx, m.ID, x, caller); err != nil {
			h.Log.Warn("extending a duplicate failed; it keeps its own deadline", "event", m.ID, "err", err)
		}
	}
}
