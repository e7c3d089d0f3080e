package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// reloader has state of the store in memory.
type reloader interface {
	// Reload reads the state again and applies changes as changes of this hub. After an
	// error it can be called again.
	Reload(ctx context.Context) error
}

// reloaders update the state that the hub keeps in memory above the store after another hub has
// changed it. They are listed by name.
type reloaders map[string]reloader

// reload runs all reloaders at the same time, also if one of them fails. The caller repeats it after
// an error.
func (l reloaders) reload(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	for name, r := range l {
		group.Go(func() {
			if err := r.Reload(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("reload %s: %w", name, err))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
