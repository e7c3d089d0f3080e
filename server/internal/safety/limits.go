package safety

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// recentFreezes is the number of automatic freezes that Read returns.
const recentFreezes = 20

// Limits are the limits at which the hub freezes a session. Its methods are safe for concurrent use.
type Limits struct {
	*store.Settings[control.SafetySettings]
	store   store.Freezes
	flag    int // of -freeze-after; 0: none
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
	var err error
	l.Settings, err = store.OpenSettings(ctx, s, store.SafetyLimits,
		func(settings control.SafetySettings) { // unchanged limits keep their beginning
			if flag > 0 {
				settings.EqualFailures = flag
			}
			l.current.Store(&limits{settings, s.Head()})
		})
	return l, err
}

// Active returns the limits as applied.
func (l *Limits) Active() control.SafetySettings { return l.current.Load().SafetySettings }

// Read returns the limits and the last automatic freezes.
func (l *Limits) Read(ctx context.Context) (control.Safety, error) {
	s := control.Safety{Settings: l.Settings.Read(), Active: l.Active()}
	if l.flag > 0 {
		s.Flag = fmt.Sprint("-freeze-after ", l.flag)
	}
	list, err := l.store.AutomaticFreezes(ctx, store.AutomaticFreezeFilter{Limit: recentFreezes})
	s.Freezes = append([]control.Freeze{}, list...)
	return s, err
}
