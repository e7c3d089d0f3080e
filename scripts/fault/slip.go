package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
)

// Of every ten questions one is answered so that the answer could still be undone,
// and left alone, and one is answered wrongly at first, and undone.
func hesitant(i int) bool { return i%10 == 3 }
func slippery(i int) bool { return i%10 == 7 }

// hesitation is how long the former is held: long enough to meet a kill.
const hesitation = 50 * time.Millisecond

// slip is how far a wrong answer got.
type slip int

const (
	_      slip = iota
	given       // the hub may have it
	undone      // the hub said that it is undone
	back        // and then it was there again
)

// slip gives the wrong answer and undoes it. It returns false when that is done.
func (s *scene) slip(ctx context.Context, id schema.EventID, i int, held bool) bool {
	url := s.hub.url()
	switch at := s.slipAt(id); {
	case at == undone && held:
		s.setSlip(id, back)
		return true
	case at != 0 && !held:
		return false // the hub was killed before it had the wrong answer, or had said that it is undone
	case at == 0:
		s.setSlip(id, given)
		r := wrongResponse(i)
		r.HoldMS = schema.MaxHold.Milliseconds()
		if post(ctx, url+schema.At(schema.PathRespond, id), r, nil) != nil {
			return true // the next look tells
		}
	}
	if post(ctx, url+schema.At(schema.PathUndo, id), nil, nil) == nil {
		s.setSlip(id, undone)
	}
	return true
}

func (s *scene) slipAt(id schema.EventID) slip {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slips[id]
}

func (s *scene) setSlip(id schema.EventID, at slip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slips[id] != back {
		s.slips[id] = at
	}
}

func (s *scene) undone() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.slips {
		if at == undone {
			n++
		}
	}
	return n
}

// verifySlips fails when an answer came back that the hub had said is undone. That
// one was never delivered is what the agents look for.
func (s *scene) verifySlips() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range s.slips {
		if at == back {
			return fmt.Errorf("question %d: its answer was undone and came back", id)
		}
	}
	return nil
}

// wrongResponse is an answer that the i-th question does not call for.
func wrongResponse(i int) schema.Response {
	r := response(i)
	switch {
	case r.Permission != nil:
		no := !*r.Permission
		r.Permission = &no
	case r.Response != nil:
		text := "a slip"
		r.Response = &text
	default:
		other := label(i, (i/3+1)%options)
		r.Choice = &other
	}
	return r
}
