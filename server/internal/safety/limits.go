package safety

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// recentFreezes is the number of automatic freezes that Read returns.
const recentFreezes = 20

// Limits are the limits at which the hub freezes a session. Its methods are safe for concurrent use.
type Limits struct {
	store interface {
		store.Log
		store.Safety
	}
	flag int // of -freeze-after; 0: none

	mu      sync.Mutex // serializes changes
	stored  control.SafetySettings
	current atomic.Pointer[limits]
}

// limits are the limits as applied since a row of the log. Earlier failures count, but freeze
// nothing: a person may have lifted that freeze.
type limits struct {
	control.SafetySettings
	since int64
}

// OpenLimits reads the stored limits. flag overrules the stored number of equal failures unless it
// is 0.
func OpenLimits(ctx context.Context, s store.Store, flag int) (*Limits, error) {
	l := &Limits{store: s, flag: flag}
	return l, l.Reload(ctx)
}

// Reload reads the stored limits again. See reload.Reloader.
func (l *Limits) Reload(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	settings, err := l.store.SafetySettings(ctx)
	if err != nil {
		return fmt.Errorf("read the limits of automatic freezes: %w", err)
	}
	if l.current.Load() == nil || settings != l.stored { // unchanged limits keep their beginning
		l.apply(settings)
	}
	return nil
}

// apply puts settings into effect. It needs mu.
func (l *Limits) apply(settings control.SafetySettings) {
	l.stored = settings
	if l.flag > 0 {
		settings.EqualFailures = l.flag
	}
	l.current.Store(&limits{settings, l.store.Head()})
}

// Active returns the limits as applied.
func (l *Limits) Active() control.SafetySettings { return l.current.Load().SafetySettings }

// Read returns the limits and the last automatic freezes.
func (l *Limits) Read(ctx context.Context) (control.Safety, error) {
	l.mu.Lock()
	s := control.Safety{Settings: l.stored, Active: l.Active()}
	l.mu.Unlock()
	if l.flag > 0 {
		s.Flag = fmt.Sprint("-freeze-after ", l.flag)
	}
	list, err := l.store.AutomaticFreezes(ctx, store.AutomaticFreezeFilter{Limit: recentFreezes})
	s.Freezes = append([]control.Freeze{}, list...)
	return s, err
}

// Set replaces the limits on behalf of a person.
func (l *Limits) Set(ctx context.Context, settings control.SafetySettings, by string) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.store.SetSafetySettings(ctx, settings, by); err != nil {
		return err
	}
	l.apply(settings)
	return nil
}
