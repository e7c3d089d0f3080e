package tables

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
)

// Fault is a reason why the hub refuses writes, or soon will.
type Fault struct {
	Kind   FaultKind
	Detail string // the failure and the kept state, for /readyz
	Next   string // the next step of an operator, an imperative sentence; empty: none
	Cause  error
}

// FaultKind is how a fault ends.
type FaultKind int

// The kinds of faults. Writes fail without an attempt from GoneFile on.
const (
	FailedCommit     FaultKind = iota // with a successful commit
	FailedCheckpoint                  // with a successful checkpoint; commits may succeed
	GoneFile                          // when the file is back
	Fatal                             // with the process
)

// Refuses reports whether writes fail without an attempt.
func (f *Fault) Refuses() bool { return f.Kind >= GoneFile }

// Err returns the error of a write that the fault prevents.
func (f *Fault) Err() error {
	if f.Kind == Fatal {
		return &schema.HintError{Err: fmt.Errorf("%w: %s", schema.ErrStopping, f.Detail), Hint: strings.TrimSpace("Send this again when the hub runs. " + f.Next)}
	}
	return &schema.HintError{Err: fmt.Errorf("%w: %s", schema.ErrStorage, f.Detail), Hint: "This was not stored: " + f.Detail + ". " + f.Next}
}

// Health is whether the database accepts writes. A failed commit sets a fault, and the next successful one clears
// it. It logs the start and the end of a fault, not the writes in between.
type Health struct {
	Failed  context.Context // ends with a fatal fault
	Fail    context.CancelFunc
	clock   func() time.Time
	log     *slog.Logger
	faulty  atomic.Bool // fault is set
	refused atomic.Int64

	mu       sync.Mutex // guards the fields below
	fault    *Fault
	since    time.Time
	before   int64 // refused when the fault began
	probedAt time.Time
}

// NewHealth returns a health without a fault.
func NewHealth(clock func() time.Time, log *slog.Logger) *Health {
	h := &Health{clock: clock, log: log}
	h.Failed, h.Fail = context.WithCancel(context.Background())
	return h
}

// Current returns the fault, or nil.
func (h *Health) Current() *Fault {
	if !h.faulty.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// Detail describes the fault; empty: none.
func (h *Health) Detail() string {
	if f := h.Current(); f != nil {
		return f.Detail
	}
	return ""
}

// Refusal returns the error of writes that must not be attempted, or nil.
func (h *Health) Refusal() error {
	if f := h.Current(); f != nil && f.Refuses() {
		h.refused.Add(1)
		return f.Err()
	}
	return nil
}

// Set starts a fault, or replaces it by another one. A fatal fault stays.
func (h *Health) Set(f *Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil && (h.fault.Kind == Fatal || h.fault.Detail == f.Detail) {
		return
	}
	if h.fault == nil {
		h.since, h.before = h.clock(), h.refused.Load()
	}
	h.fault = f
	h.faulty.Store(true)
	h.log.Error("database fault", "reason", f.Detail, "err", f.Cause, "next", f.Next)
	if f.Kind == Fatal {
		h.Fail()
	}
}

// Clear ends a fault of this kind, and reports whether there was one.
func (h *Health) Clear(kind FaultKind) bool {
	if !h.faulty.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault == nil || h.fault.Kind != kind {
		return false
	}
	h.log.Info("database fault over", "reason", h.fault.Detail, "seconds", h.clock().Sub(h.since).Seconds(), "refused", h.refused.Load()-h.before)
	h.fault = nil
	h.faulty.Store(false)
	return true
}

// Record notes the result of a group commit with ops writes. fault is nil if it succeeded.
func (h *Health) Record(ops int, fault *Fault) {
	if fault == nil {
		h.Clear(FailedCommit)
		return
	}
	h.refused.Add(int64(ops))
	h.Set(fault)
}

// probeInterval is the minimum time between two probes.
const probeInterval = time.Second

// Probe starts a write if the last commit failed, so that a hub to which nothing is sent finds out that its database
// works again. It does not wait for the write.
func (h *Health) Probe(q *Queue, run func(*Work) error) {
	if f := h.Current(); f != nil && f.Kind == FailedCommit && h.claimProbe() {
		_ = q.Add(&Op{Kind: Essential | OneRow, Run: run})
	}
}

func (h *Health) claimProbe() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock().Sub(h.probedAt).Abs() < probeInterval {
		return false
	}
	h.probedAt = h.clock()
	return true
}
