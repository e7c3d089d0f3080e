package hub

import (
	"context"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxConflictRetries limits the attempts of a change that loses the compare-and-swap.
const maxConflictRetries = 16

// readSnapshot reads a question.
func (h *Hub) readSnapshot(ctx context.Context, id schema.EventID) (*question.Snapshot, error) {
	q, err := h.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.decodeSnapshot(q)
}

func (h *Hub) decodeSnapshot(q *store.Question) (*question.Snapshot, error) {
	s, err := question.Decode(q, &h.env)
	if err == nil && s.URL != "" {
		s.Blocked = h.checkURL(s.URL)
	}
	return s, err
}

// transition changes a question with optimistic concurrency and returns the resulting
// event. decide computes the change of a snapshot, or nil if no change is needed. It
// is called again with a new snapshot if another writer committed first, so what it stores
// or sends must belong to the first call alone. It may change the snapshot, write to the log, and
// set a variable of its caller, which then has the value of the last call.
func (h *Hub) transition(
	ctx context.Context, id schema.EventID, decide func(*question.Snapshot) (*store.Change, error),
) (*store.Event, error) {
	for attempt := range maxConflictRetries {
		if attempt == 1 {
			// Serialize retries per question: however many people vote at the same
			// time, a retry loses only to first attempts.
			lock := &h.raceLocks[uint64(id)%uint64(len(h.raceLocks))]
			lock.Lock()
			defer lock.Unlock()
		}
		s, err := h.readSnapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if err = h.readDuplicates(ctx, s); err != nil {
			return nil, err
		}
		change, err := decide(s)
		if err != nil {
			return nil, err
		}
		if change == nil {
			return &s.Event, nil
		}
		err = h.Store.Apply(ctx, *change)
		switch {
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrPolicyChanged) && change.Authority != store.OfCaller:
			continue
		case errors.Is(err, store.ErrPolicyChanged):
			return nil, &schema.HintError{Err: fmt.Errorf("%w: %w", schema.ErrBusy, err), Hint: "Nothing was decided. Try again."}
		case err != nil:
			return nil, err
		}
		event := s.Event
		event.Status = change.Status
		return &event, nil
	}
	return nil, fmt.Errorf("%w: too many concurrent changes of question %d", schema.ErrBusy, id)
}

// readDuplicates reads the other questions of the group that s leads.
func (h *Hub) readDuplicates(ctx context.Context, s *question.Snapshot) error {
	if s.Status.IsSettled() || s.Status.Waiters < 2 {
		return nil
	}
	list, err := h.Store.GroupMembers(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, m := range list {
		dup, err := h.readSnapshot(ctx, m.ID)
		if err != nil {
			return err
		}
		s.Duplicates = append(s.Duplicates, question.Duplicate{Snapshot: dup, Joined: m.Joined})
	}
	return nil
}

// eventJSON encodes the event that an operation returns, or passes on its error.
func eventJSON(e *store.Event, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return e.AppendJSON(nil, -1), nil
}

// dropInvalidAnswers drops the answers in their undo window that their responder may not give
// any more.
func (h *Hub) dropInvalidAnswers(ctx context.Context) {
	ids, err := h.Store.OpenUndoWindows(ctx)
	if err != nil {
		h.Log.Error("open undo windows not read; they are checked when they end", "err", err)
	}
	for _, id := range ids {
		_, err := h.transition(ctx, id, (*question.Snapshot).DropInvalidAnswer)
		if err != nil {
			h.Log.Error("invalid answer not dropped; it is checked when its undo window ends", "event", id, "err", err)
		}
	}
}
