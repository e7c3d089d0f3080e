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

// What a session asks several times at once, in exactly the same words about exactly
// the same call, is one card. The first of them stands for all: Waiters counts them, and
// each that joins makes a new revision of it, so that an answer says by its revision
// which of them the person saw. It ends those, each with an answer and a delivery of its
// own; who came later waits on. Whatever else ends one of them ends it alone.

// duplicate is another question that asks the same as the first of its group.
type duplicate struct {
	*snapshot
	joinedRevision int64 // counted from this revision of the first one on
}

// duplicateKey tells what a question asks apart from everything else: nil when it stands
// alone, because it is about no call, is for certain people to decide, or because a part
// of it was taken out, in which it may differ from what looks the same.
func duplicateKey(d *store.EventDraft, q *schema.HumanInTheLoop, st *schema.Status, requester string) []byte {
	c, ok := toolCallOf(d, q)
	multiple := q.RequiredApprovals > 1 || q.Recipients != nil && q.Recipients.Mode != "" && q.Recipients.Mode != "anyone" || q.EscalateTo != nil
	if !ok || multiple || len(st.Recipients) > 0 || bytes.Contains(d.Question, []byte(schema.RedactedPrefix)) || bytes.Contains(c.arguments, []byte(schema.RedactedPrefix)) {
		return nil
	}
	raw, err := json.Marshal([]any{
		d.App, d.Session, d.Type, q.Type, q.Question, q.Choices, q.Questions, c.hash(), c.cwd, q.ToolCall != nil && q.ToolCall.Editable,
		q.ReasonRequired, q.Suggestions, st.Risk, q.Risk, requester,
	})
	if err != nil { // a suggestion that is no JSON can't have come this far
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:16]
}

// duplicates reads the questions that ask the same as the first one a.
func (h *Hub) duplicates(ctx context.Context, s *snapshot) ([]duplicate, error) {
	if s.status.Settled() || s.status.Waiters < 2 {
		return nil, nil
	}
	list, err := h.Store.GroupMembers(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	members := make([]duplicate, 0, len(list))
	for _, m := range list {
		snap, err := h.readSnapshot(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		members = append(members, duplicate{snap, m.Joined})
	}
	return members, nil
}

// answeredDuplicates are the questions that an answer to the first one, as it was at a revision,
// is for, too. One that has an answer of its own which can still be undone keeps it.
func (s *snapshot) answeredDuplicates(revision int64) (list []*snapshot) {
	for _, m := range s.duplicates {
		if m.joinedRevision <= revision && !m.status.Settled() && m.undoableAnswer == nil {
			list = append(list, m.snapshot)
		}
	}
	return list
}

// excludeSelfApproved takes those out of a card whose own asker the answer comes from, where it
// does not come from the first one's: it may be refused there, or is marked.
func (h *Hub) excludeSelfApproved(s *snapshot, from responder, by *schema.Responder) {
	s.duplicates = slices.DeleteFunc(s.duplicates, func(m duplicate) bool {
		ownBy, err := h.authorizeResponder(m.snapshot, from)
		return err != nil || ownBy.SelfApproval != by.SelfApproval
	})
}

// extendDuplicates gives those who ask the same as much more time as the first of them, each
// as far as its agent can be told.
func (h *Hub) extendDuplicates(ctx context.Context, list []duplicate, x *schema.Extend, caller Caller) {
	for _, m := range list {
		if _, err := h.Extend(ctx, m.ID, x, caller); err != nil {
			h.Log.Warn("one that asks the same keeps its own deadline", "event", m.ID, "err", err)
		}
	}
}
