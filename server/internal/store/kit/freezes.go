package kit

import (
	"slices"
	"sync/atomic"

	"github.com/hookback/hookback/schema/control"
)

// Freezes holds the active freezes, as of the last commit. It implements the reads of store.Freezes. Only
// the writer's goroutine changes it.
type Freezes struct {
	active atomic.Pointer[[]control.Freeze]
}

// ActiveFreezes implements store.Freezes.
func (f *Freezes) ActiveFreezes() []control.Freeze {
	if list := f.active.Load(); list != nil {
		return *list
	}
	return nil
}

// FreezeOf implements store.Freezes.
func (f *Freezes) FreezeOf(app, session string) *control.Freeze {
	active := f.ActiveFreezes()
	i := slices.IndexFunc(active, func(freeze control.Freeze) bool { return freeze.Stops(app, session) })
	if i < 0 {
		return nil
	}
	return &active[i]
}

// IsFrozen reports whether a freeze stops the session.
func (f *Freezes) IsFrozen(app, session string) bool { return f.FreezeOf(app, session) != nil }

// LoadFreezes replaces the freezes by the stored ones.
func (f *Freezes) LoadFreezes(active []control.Freeze) { f.active.Store(&active) }

// PutFreeze adds a freeze.
func (f *Freezes) PutFreeze(freeze control.Freeze) {
	f.LoadFreezes(append(slices.Clone(f.ActiveFreezes()), freeze))
}

// RemoveFreeze removes a freeze that was lifted.
func (f *Freezes) RemoveFreeze(id int64) {
	f.LoadFreezes(slices.DeleteFunc(slices.Clone(f.ActiveFreezes()), func(freeze control.Freeze) bool { return freeze.ID == id }))
}
