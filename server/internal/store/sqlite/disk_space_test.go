package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// logRecorder calls a function for every log record.
type logRecorder struct{ onMessage func(message string) }

func (h logRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (h logRecorder) Handle(_ context.Context, r slog.Record) error {
	h.onMessage(r.Message)
	return nil
}
func (h logRecorder) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h logRecorder) WithGroup(string) slog.Handler      { return h }

// messages records log messages.
type messages struct {
	mu   sync.Mutex
	list []string
}

func (m *messages) config(c *Config) {
	c.Log = slog.New(logRecorder{func(message string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.list = append(m.list, message)
	}})
}

func (m *messages) count(message string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.list {
		if s == message {
			n++
		}
	}
	return n
}

type diskFunc func(dir string) (Disk, error)

func (f diskFunc) Measure(dir string) (Disk, error) { return f(dir) }

func fakeDisk(free *atomic.Int64) DiskMeter {
	return diskFunc(func(string) (Disk, error) { return Disk{Free: free.Load(), Total: 1 << 40}, nil })
}

func TestDiskSpace_RejectsPlainEventsWhenLow(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 30)
	b, ctx := newTestStore(t, func(c *Config) { c.Disk = fakeDisk(&free) }), context.Background()
	id := b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID

	free.Store(100 << 20)
	b.Clock.Advance(time.Second)
	_, err := b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrFull)
	require.NotEmpty(t, schema.ProblemOf(err).Hint)
	b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{}))
	b.Answer(t, id)
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.True(t, stats.DiskLow)

	free.Store(1 << 30)
	b.Clock.Advance(time.Second)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	stats, err = b.Stats(ctx)
	require.NoError(t, err)
	require.False(t, stats.DiskLow)
}

// A fault of the disk is logged at its start and its end, and its text names the remaining space.
func TestDiskSpace_ReportsEachFaultOnce(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 30)
	log := new(messages)
	b, ctx := newTestStore(t, log.config, func(c *Config) { c.Disk = fakeDisk(&free) }), t.Context()
	free.Store(100 << 20)
	for range 20 {
		b.Clock.Advance(time.Second)
		_, err := b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
		require.ErrorIs(t, err, schema.ErrFull)
		require.Contains(t, schema.ProblemOf(err).Hint, "Questions and answers are still stored, as long as the last 100 MiB suffice")
	}
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 20, stats.RefusedFull)
	require.EqualValues(t, 100<<20, stats.LeftBytes)
	free.Store(1 << 30)
	b.Clock.Advance(time.Second)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.Equal(t, []int{1, 1}, []int{
		log.count("disk nearly full: refusing plain events, still storing questions and answers"),
		log.count("disk space available again: accepting all events"),
	})
}

// When the reserve is used up, too, nothing is stored, and the text reports that.
func TestDiskSpace_RefusesEverythingWithoutReserve(t *testing.T) {
	t.Parallel()
	log := new(messages)
	b, ctx := newTestStore(t, log.config), t.Context()
	require.NoError(t, b.do(t, func(w *tables.Work) error { return w.Exec("PRAGMA max_page_count = 1") })) // 1: the current size
	q := conformance.NewQuestionDraft("s", time.Time{})
	q.Payload = []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 3 {
		_, err := b.Append(ctx, q)
		require.ErrorIs(t, err, schema.ErrFull)
		require.Contains(t, schema.ProblemOf(err).Hint, "neither are questions and answers")
	}
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.Contains(t, stats.Fault, "the reserve is used up")
	require.Equal(t, 1, log.count("database fault"))
}

func TestDiskSpace_AcceptsIfUnmeasurable(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, func(c *Config) {
		c.Disk = diskFunc(func(string) (Disk, error) { return Disk{}, errors.New("no idea") })
	})
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
}

// On a full disk the reserve file makes room for questions and answers. Plain events are
// refused until there is space to recreate it.
func TestDiskSpace_ReleasesReserveWhenFull(t *testing.T) {
	t.Parallel()
	var (
		free atomic.Int64
		b    *testStore
	)
	free.Store(1 << 30)
	// SQLite's page limit simulates the full disk. Deleting the reserve file raises it.
	limit := func(pages string) {
		_, err := b.writer.conn.ExecContext(context.Background(), "PRAGMA max_page_count = "+pages)
		require.NoError(t, err)
	}
	b = newTestStore(t, func(c *Config) {
		c.ReserveFileBytes, c.Disk = 1<<20, fakeDisk(&free)
		c.Log = slog.New(logRecorder{func(message string) {
			if strings.Contains(message, "deleted the reserve file") {
				free.Store(1 << 20)
				limit("100000")
			}
		}})
	})
	ctx := context.Background()
	require.EqualValues(t, 1<<20, fileSize(b.file+".ballast"))
	q := b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
	require.NoError(t, b.do(t, func(*tables.Work) error { limit("1"); return nil })) // 1: the current size

	var acked []schema.EventID
	var err error
	for err == nil {
		var r store.Receipt
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.Payload = []byte(`{"x":"` + strings.Repeat("x", 3000) + `"}`)
		if r, err = b.Append(ctx, d); err == nil {
			acked = append(acked, r.Event.ID)
		}
	}
	require.ErrorIs(t, err, schema.ErrFull)
	require.EqualValues(t, 1<<20, fileSize(b.file+".ballast"), "a plain event would free it for whatever fills the disk")
	b.Answer(t, q)
	for range 20 {
		acked = append(acked, b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID)
	}
	_, err = os.Stat(b.file + ".ballast")
	require.ErrorIs(t, err, os.ErrNotExist)
	b.Clock.Advance(time.Second)
	_, err = b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrFull, "the space of the reserve file is not for plain events")

	free.Store(1 << 30)
	b.Clock.Advance(time.Second)
	acked = append(acked, b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID)
	require.EqualValues(t, 1<<20, fileSize(b.file+".ballast"), "the reserve file is back")
	conformance.RequireDense(t, b.engine)
	b.Reopen(t)
	for _, id := range acked {
		_, _, err := b.Event(ctx, id)
		require.NoError(t, err)
	}
}

// A question in the same group as plain events is stored although they fail.
func TestDiskSpace_KeepsQuestionsOfGroup(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	full := true
	plain, asks := newAppendOp(conformance.NewDraft("app", "s", "Stop", "")), newAppendOp(conformance.NewQuestionDraft("s", time.Time{}))
	run := plain.Run
	plain.Run = func(t *tables.Work) error {
		if full {
			full = false
			if err := t.Exec("PRAGMA max_page_count = 1"); err != nil {
				return err
			}
			err := t.Exec(`CREATE TABLE filler AS SELECT zeroblob(100000) AS z`)
			return errors.Join(err, run(t))
		}
		return run(t)
	}
	asks.Run = func(inner func(*tables.Work) error) func(*tables.Work) error {
		return func(t *tables.Work) error {
			if err := t.Exec("PRAGMA max_page_count = 100000"); err != nil {
				return err
			}
			return inner(t)
		}
	}(asks.Run)
	b.enqueue(t, plain, asks)
	release()
	require.ErrorIs(t, b.Queue.Wait(t.Context(), plain), schema.ErrFull)
	require.NoError(t, b.Queue.Wait(t.Context(), asks))
	require.Len(t, b.Published(), 2)
	conformance.RequireDense(t, b.engine)
}
