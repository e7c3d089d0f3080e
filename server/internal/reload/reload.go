// Package reload updates the state that a hub keeps in memory above the store after another hub has
// changed it.
package reload

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Reloader has state of the store in memory.
type Reloader interface {
	// Reload reads the state again and applies changes as changes of this hub. After an
	// error it can be called again.
	Reload(ctx context.Context) error
}

// List are the reloaders of a hub, by name.
type List map[string]Reloader

// Reload runs all reloaders at the same time, also if one of them fails. The caller repeats it after an
// error.
func (l List) Reload(ctx context.Context) error {
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
