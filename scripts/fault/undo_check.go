package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
)

// usesUndoWindow selects one question in ten whose answer has an undo window that passes.
func usesUndoWindow(i int) bool { return i%10 == 3 }

// hasUndoCheck selects one question in ten that gets a wrong answer first, which is undone.
func hasUndoCheck(i int) bool { return i%10 == 7 }

// undoWindow is long enough for a kill to happen in it.
const undoWindow = 50 * time.Millisecond

// undoCheck is the progress of a wrong answer and its undo.
type undoCheck int

const (
	_               undoCheck = iota
	wrongAnswerSent           // the hub may have stored it
	undoConfirmed             // the hub confirmed the undo
	answerReturned            // the undone answer is in force again: a defect
)

// checkUndo sends the wrong answer and undoes it. It returns false when both are done. held is the state in
// a list that was asked for at a time.
func (s *killScenario) checkUndo(ctx context.Context, id schema.EventID, i int, held bool, asked time.Time) bool {
	switch at := s.undoCheckOf(id); {
	case at == undoConfirmed && held:
		if s.wasCurrent(id, asked) {
			s.setUndoCheck(id, answerReturned)
		}
		return true
	case at != 0 && !held:
		return false // the hub was killed before it stored the answer or confirmed the undo
	case at == 0:
		s.setUndoCheck(id, wrongAnswerSent)
		r := wrongResponse(i)
		r.HoldMS = schema.MaxHold.Milliseconds()
		if s.any().post(ctx, schema.At(schema.PathRespond, id), r, nil) != nil {
			return true // a later list shows whether it was stored
		}
	}
	if s.any().post(ctx, schema.At(schema.PathUndo, id), nil, nil) == nil {
		s.setUndoCheck(id, undoConfirmed)
	}
	return true
}

func (s *killScenario) undoCheckOf(id schema.EventID) undoCheck {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.undoChecks[id]
}

func (s *killScenario) setUndoCheck(id schema.EventID, at undoCheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.undoChecks[id] != answerReturned {
		s.undoChecks[id] = at
	}
	if at == undoConfirmed {
		s.undoneAt[id] = time.Now()
	}
}

// maxReadLag is the age of a list by another hub than the one that changed the question.
const maxReadLag = time.Second

// wasCurrent reports whether a list that was asked for at a time shows that the answer was undone.
func (s *killScenario) wasCurrent(id schema.EventID, asked time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hubs) == 1 || asked.Sub(s.undoneAt[id]) > maxReadLag
}

func (s *killScenario) undone() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.undoChecks {
		if at == undoConfirmed {
			n++
		}
	}
	return n
}

// verifyUndoChecks fails if an undone answer came back. Agents verify that it was never
// delivered.
func (s *killScenario) verifyUndoChecks() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range s.undoChecks {
		if at == answerReturned {
			return fmt.Errorf("question %d: its undone answer came back", id)
		}
	}
	return nil
}

// wrongResponse returns a valid answer other than the expected one.
func wrongResponse(i int) schema.Response {
	r := response(i)
	switch {
	case r.Permission != nil:
		no := !*r.Permission
		r.Permission = &no
	case r.Response != nil:
		text := "a wrong answer"
		r.Response = &text
	default:
		other := label(i, (i/3+1)%options)
		r.Choice = &other
	}
	return r
}
