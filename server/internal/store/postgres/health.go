package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
)

// health is whether the database accepts writes. A failed commit sets a fault, and the next
// successful one clears it. It logs the start and the end of a fault, not the writes in between.
type health struct {
	log     *slog.Logger
	refused atomic.Int64
	failed  context.Context // ends with a fault that only a restart ends
	fail    context.CancelFunc

	mu       sync.Mutex // guards the fields below
	fault    string     // for users; empty: none
	isFatal  bool
	since    time.Time
	probedAt time.Time
}

func newHealth(log *slog.Logger) *health {
	h := &health{log: log}
	h.failed, h.fail = context.WithCancel(context.Background())
	return h
}

func (h *health) current() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// refusal returns the error of writes that must not be attempted, or nil.
func (h *health) refusal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isFatal {
		return nil
	}
	h.refused.Add(1)
	return &schema.HintError{Err: fmt.Errorf("%w: %s", schema.ErrStopping, h.fault), Hint: "Send this again when the hub runs."}
}

// record notes the result of a group commit with ops writes.
func (h *health) record(ops int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.isFatal:
	case err == nil && h.fault != "":
		h.log.Info("database fault over", "reason", h.fault, "seconds", time.Since(h.since).Seconds(), "refused", h.refused.Load())
		h.fault = ""
	case err != nil:
		h.refused.Add(int64(ops))
		if h.fault == "" {
			h.since = time.Now()
			h.log.Error("database fault", "err", err)
		}
		h.fault = "the database does not accept writes; everything acknowledged before is kept"
		if isFull(err) {
			h.fault = "the disk of the PostgreSQL server is full, so nothing is stored; everything acknowledged before is kept"
		}
	}
}

// setFatal makes the hub stop.
func (h *health) setFatal(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.isFatal = reason, true
	h.log.Error("database fault", "reason", reason)
	h.fail()
}

// probeInterval is the minimum time between two probes.
const probeInterval = time.Second

// claimProbe reports whether a write must find out whether the fault is over.
func (h *health) claimProbe(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault == "" || h.isFatal || now.Sub(h.probedAt).Abs() < probeInterval {
		return false
	}
	h.probedAt = now
	return true
}
