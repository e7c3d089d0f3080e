package store

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// heard calls a function for every log record.
type heard struct{ hear func(message string) }

func (h heard) Enabled(context.Context, slog.Level) bool      { return true }
func (h heard) Handle(_ context.Context, r slog.Record) error { h.hear(r.Message); return nil }
func (h heard) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h heard) WithGroup(string) slog.Handler                 { return h }

func onDisk(free *atomic.Int64) func(string) (Disk, error) {
	return func(string) (Disk, error) { return Disk{Free: free.Load(), Total: 1 << 40}, nil }
}

func TestLowDiskRefusesPlainEventsOnly(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 30)
	b, ctx := setup(t, func(c *Config) { c.Disk = onDisk(&free) }), context.Background()
	id := b.append(t, question("s", time.Time{})).ID

	free.Store(100 << 20)
	b.clock.advance(time.Second)
	_, err := b.Append(ctx, draft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrFull)
	require.NotEmpty(t, schema.ProblemOf(err).Hint)
	b.append(t, question("s", time.Time{}))
	b.answer(t, id)
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.True(t, stats.DiskLow)

	free.Store(1 << 30)
	b.clock.advance(time.Second)
	b.append(t, draft("app", "s", "Stop", ""))
	stats, err = b.Stats(ctx)
	require.NoError(t, err)
	require.False(t, stats.DiskLow)
}

func TestUnmeasurableDiskIsNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) {
		c.Disk = func(string) (Disk, error) { return Disk{}, errors.New("no idea") }
	})
	b.append(t, draft("app", "s", "Stop", ""))
}

// On a full disk the ballast goes, and questions and answers have its room; plain
// events wait until there is room for it again.
func TestFullDiskGivesTheBallastUp(t *testing.T) {
	t.Parallel()
	var (
		free atomic.Int64
		b    *bench
	)
	free.Store(1 << 30)
	// SQLite is full when the file may have no more pages; the room that the
	// ballast gives up is a higher limit.
	limit := func(pages string) {
		_, err := b.writer.conn.ExecContext(context.Background(), "PRAGMA max_page_count = "+pages)
		require.NoError(t, err)
	}
	b = setup(t, func(c *Config) {
		c.ReserveFileBytes, c.Disk = 1<<20, onDisk(&free)
		c.Log = slog.New(heard{func(message string) {
			if strings.Contains(message, "gave up the ballast") {
				free.Store(1 << 20)
				limit("100000")
			}
		}})
	})
	ctx := context.Background()
	require.EqualValues(t, 1<<20, size(b.file+".ballast"))
	q := b.append(t, question("s", time.Time{})).ID
	require.NoError(t, b.writer.do(ctx, &op{run: func(*tx) error { limit("1"); return nil }})) // 1: as big as it is

	var acked []schema.EventID
	var err error
	for err == nil {
		var r Receipt
		d := draft("app", "s", "Stop", "")
		d.Payload = []byte(`{"x":"` + strings.Repeat("x", 3000) + `"}`)
		if r, err = b.Append(ctx, d); err == nil {
			acked = append(acked, r.Event.ID)
		}
	}
	require.ErrorIs(t, err, schema.ErrFull)
	_, err = os.Stat(b.file + ".ballast")
	require.ErrorIs(t, err, os.ErrNotExist)
	b.answer(t, q)
	for range 20 {
		acked = append(acked, b.append(t, question("s", time.Time{})).ID)
	}
	b.clock.advance(time.Second)
	_, err = b.Append(ctx, draft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrFull, "what the ballast left is not for plain events")

	free.Store(1 << 30)
	b.clock.advance(time.Second)
	acked = append(acked, b.append(t, draft("app", "s", "Stop", "")).ID)
	require.EqualValues(t, 1<<20, size(b.file+".ballast"), "it is back")
	requireDense(t, b.Store)
	b.reopen(t)
	for _, id := range acked {
		_, _, err := b.Event(ctx, id)
		require.NoError(t, err)
	}
}

// A question that is written together with plain events survives the group's end.
func TestFullDiskSparesTheQuestionsOfAGroup(t *testing.T) {
	t.Parallel()
	b, release := held(t)
	full := true
	plain, asks := appendOp(draft("app", "s", "Stop", "")), appendOp(question("s", time.Time{}))
	run := plain.run
	plain.run = func(t *tx) error {
		if full {
			full = false
			if _, err := t.exec("PRAGMA max_page_count = 1"); err != nil {
				return err
			}
			_, err := t.exec(`CREATE TABLE filler AS SELECT zeroblob(100000) AS z`)
			return errors.Join(err, run(t))
		}
		return run(t)
	}
	asks.run = func(inner func(*tx) error) func(*tx) error {
		return func(t *tx) error {
			if _, err := t.exec("PRAGMA max_page_count = 100000"); err != nil {
				return err
			}
			return inner(t)
		}
	}(asks.run)
	b.queue(t, plain, asks)
	release()
	<-plain.done
	<-asks.done
	require.ErrorIs(t, plain.err, schema.ErrFull)
	require.NoError(t, asks.err)
	require.Len(t, b.rows(), 2)
	requireDense(t, b.Store)
}
