// Package traces sends the turns of agents to an OpenTelemetry collector: a span for the agent and each
// subagent, each tool call, and each wait for a person. It follows the log with a separate cursor, so it
// delays no event. Ids of spans are derived from events: a turn that is sent twice is the same spans.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// batchRows is the number of log rows per step.
	batchRows = 256
	// spansPerRequest and contentPerRequest limit a request. A larger turn is a request by itself.
	spansPerRequest   = 500
	contentPerRequest = 2 << 20 // bytes
	// maxReplay limits the rows that are read again after a restart, for turns that were open.
	maxReplay = 50_000
	// maxUnsavedRows limits the rows without effect that are read again after a restart.
	maxUnsavedRows = 4096
	// stepInterval is the minimum time between two steps that have caught up.
	stepInterval = time.Second
	// breakAfter failures in a row pause the sender for breakFor.
	breakAfter = 5
	breakFor   = time.Minute
)

// Config holds the dependencies of a Follower. All are required except Clock and Log.
type Config struct {
	Store interface {
		store.Log
		store.Traces
	}
	Feed     *feed.Feed
	Endpoint *Endpoint
	Version  string // of the hub
	// Content sends prompts, arguments of calls and error messages.
	Content bool
	Clock   func() time.Time // default time.Now
	Log     *slog.Logger     // default: discard
}

// Follower sends the turns of the log.
type Follower struct {
	Config
	started bool
	builder *builder
	at      int64 // last row read
	sentTo  int64 // turns that ended up to here were sent
	saved   store.TraceCursor

	mu    sync.Mutex
	stats Stats
}

// Stats counts the work of the sender since the start.
type Stats struct {
	Sent, Rejected int64 // spans
	Failed         int64 // requests
	InRow          int   // failures since the last success
	RetryAt        time.Time
	LastError      string
}

// IsPaused reports whether the circuit breaker is open.
func (s Stats) IsPaused() bool { return s.InRow >= breakAfter }

// New returns a Follower. It does nothing before Run.
func New(cfg Config) *Follower {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Follower{Config: cfg}
}

// Stats returns the current statistics; zero for a nil Follower.
func (f *Follower) Stats() Stats {
	if f == nil {
		return Stats{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Warning returns the reason if traces are not sent; empty: they are.
func (f *Follower) Warning() string {
	s := f.Stats()
	if !s.IsPaused() {
		return ""
	}
	return fmt.Sprintf("traces are not sent: %d attempts in a row failed", s.InRow)
}

// Run sends turns until ctx ends, and always returns nil. It may be called again.
func (f *Follower) Run(ctx context.Context) error {
	f.started = false // another hub may have sent since an earlier run
	defer f.Endpoint.client.CloseIdleConnections()
	_ = f.Feed.Follow(ctx, feed.Entry, func(b *feed.Batch) error { // ends with ctx
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = f.Step(ctx); err != nil && ctx.Err() == nil {
				f.Log.Warn("traces not sent", "retry_in", f.Stats().RetryAt.Sub(f.Clock()).Round(time.Second), "err", err)
			}
		}
		if wait := f.Stats().RetryAt.Sub(f.Clock()); wait > 0 {
			b.Timer = time.After(wait)
		}
		feed.Sleep(ctx, stepInterval)
		return nil
	})
	return nil
}

// Step reads the next rows of the log and sends the turns that ended in them. It does nothing before the
// next attempt after a failure is due. It reports whether there are more rows.
func (f *Follower) Step(ctx context.Context) (more bool, err error) {
	if f.Clock().Before(f.Stats().RetryAt) {
		return false, nil
	}
	if err := f.start(ctx); err != nil {
		return false, f.recordFailure(err)
	}
	if len(f.builder.ended) == 0 {
		entries, upTo, err := f.Store.LogEntries(ctx, store.TraceReader, f.at, batchRows)
		if err != nil {
			return false, f.recordFailure(err)
		}
		for i := range entries {
			f.builder.apply(&entries[i])
		}
		f.at = max(f.at, upTo)
	}
	if err := f.send(ctx); err != nil {
		return false, f.recordFailure(err)
	}
	return f.at < f.Store.Head(), nil
}

// start reads the cursor. Without one, it begins at the end of the log: turns from before are not sent.
func (f *Follower) start(ctx context.Context) error {
	if f.started {
		return nil
	}
	cursor, isSet, err := f.Store.TraceCursor(ctx)
	if err != nil {
		return err
	}
	if !isSet {
		cursor = store.TraceCursor{Sent: f.Store.Head(), Resume: f.Store.Head()}
		if err := f.Store.SetTraceCursor(ctx, cursor); err != nil {
			return err
		}
	}
	f.saved, f.sentTo = cursor, cursor.Sent
	f.at = max(cursor.Resume, cursor.Sent-maxReplay)
	f.builder, f.started = &builder{withContent: f.Content, open: map[store.SessionKey]*turn{}}, true
	return nil
}

// send sends the ended turns and saves the cursor.
func (f *Follower) send(ctx context.Context) error {
	b := f.builder
	hasSent := false
	for len(b.ended) > 0 {
		spans, n := f.nextRequest()
		if len(spans) > 0 {
			if err := f.post(ctx, spans); err != nil {
				return err
			}
			hasSent = true
		}
		b.ended = b.ended[n:]
	}
	b.ended = nil
	cursor := store.TraceCursor{Sent: max(f.at, f.saved.Sent), Resume: b.resumeAt(f.at)}
	if hasSent || cursor.Sent-f.saved.Sent >= maxUnsavedRows {
		// Spans that were sent are not sent again because the hub stops now.
		if err := f.Store.SetTraceCursor(context.WithoutCancel(ctx), cursor); err != nil {
			return err
		}
		f.saved, f.sentTo = cursor, cursor.Sent
	}
	return nil
}

// nextRequest returns the spans of the first n ended turns.
func (f *Follower) nextRequest() (spans []span, n int) {
	content := 0
	for _, t := range f.builder.ended {
		if t.seq > f.sentTo { // otherwise a restart has read it again
			if len(spans) > 0 && (len(spans)+len(t.spans) > spansPerRequest || content+t.content > contentPerRequest) {
				break
			}
			spans, content = append(spans, t.spans...), content+t.content
		}
		n++
	}
	return spans, n
}

func (f *Follower) post(ctx context.Context, spans []span) error {
	body, err := encode(spans, f.Version)
	if err != nil {
		return err
	}
	rejected, err := f.Endpoint.send(ctx, body)
	if errors.Is(err, errRejected) {
		f.Log.Error("traces dropped", "spans", len(spans), "err", err)
		rejected, err = int64(len(spans)), nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rejected = min(rejected, int64(len(spans)))
	f.stats.Rejected += rejected
	f.stats.Sent += int64(len(spans)) - rejected
	f.stats.InRow, f.stats.RetryAt, f.stats.LastError = 0, time.Time{}, ""
	return nil
}

// recordFailure plans the next attempt: soon at first, and after breakFor once breakAfter in a row failed.
func (f *Follower) recordFailure(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Failed++
	f.stats.InRow++
	wait := time.Second << min(f.stats.InRow-1, breakAfter)
	if f.stats.IsPaused() {
		wait = breakFor
	}
	f.stats.RetryAt, f.stats.LastError = f.Clock().Add(wait), err.Error()
	return err
}
