package delivery

import "github.com/hookback/hookback/schema"

// slots are semaphores by key.
type slots struct {
	limit  int
	inUse  map[string]int
	parked map[string][]schema.EventID // key → deliveries that wait for a slot
	// offered holds the keys of the slots that became free for deliveries that waited. One that does
	// not need its slot any more must pass it on: no other event wakes those behind it.
	offered map[schema.EventID]string
}

func newSlots(limit int) slots {
	return slots{limit: limit, inUse: map[string]int{}, parked: map[string][]schema.EventID{}, offered: map[schema.EventID]string{}}
}

func (s *slots) isFull(key string) bool { return s.inUse[key] >= s.limit }

func (s *slots) park(key string, id schema.EventID) { s.parked[key] = append(s.parked[key], id) }

// take occupies a slot, and returns what pass returns if the delivery was offered one of another key.
func (s *slots) take(key string, id schema.EventID) []schema.EventID {
	s.inUse[key]++
	if s.offered[id] == key {
		delete(s.offered, id)
	}
	return s.pass(id)
}

// pass offers the slot that a delivery was offered to the next one, which it returns.
func (s *slots) pass(id schema.EventID) []schema.EventID {
	key, ok := s.offered[id]
	if !ok {
		return nil
	}
	delete(s.offered, id)
	return s.next(key)
}

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
	s.offered[queue[0]] = key
	return queue[:1:1]
}
