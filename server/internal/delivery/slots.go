package delivery

import "github.com/hookback/hookback/schema"

// slots are semaphores by key.
type slots struct {
	limit  int
	inUse  map[string]int
	parked map[string][]schema.EventID // key → deliveries that wait for a slot
}

func newSlots(limit int) slots {
	return slots{limit: limit, inUse: map[string]int{}, parked: map[string][]schema.EventID{}}
}

func (s *slots) isFull(key string) bool { return s.inUse[key] >= s.limit }

func (s *slots) park(key string, id schema.EventID) { s.parked[key] = append(s.parked[key], id) }

// release gives a slot back and returns what next returns.
func (s *slots) release(key string) []schema.EventID {
	if s.inUse[key]--; s.inUse[key] == 0 {
		delete(s.inUse, key)
	}
	return s.next(key)
}

// next removes and returns the delivery that waited longest for a slot, if there is one and a slot
// is free.
func (s *slots) next(key string) []schema.EventID {
	queue := s.parked[key]
	if len(queue) == 0 || s.isFull(key) {
		return nil
	}
	if len(queue) == 1 {
		delete(s.parked, key)
	} else {
		s.parked[key] = queue[1:]
	}
	return []schema.EventID{queue[0]}
}
