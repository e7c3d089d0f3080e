package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/feed"
)

// notifyBus is a bus by LISTEN and NOTIFY, on its own connection: a commit with a NOTIFY holds a
// lock of the whole server, so it must never be the writer's.
type notifyBus struct {
	config *pgx.ConnConfig
	log    *slog.Logger
	newest atomic.Int64                       // commit to send; 0: none
	wake   atomic.Pointer[context.CancelFunc] // ends the present wait for notifications; nil: not connected
	rings  chan int64
	stop   context.CancelFunc
	done   chan struct{}

	sent, received, dropped atomic.Int64
}

const (
	// busTimeout limits connecting and each exchange.
	busTimeout = 3 * time.Second
	// busIdle is the time without notifications after which the connection is checked.
	busIdle = 2 * time.Second
	// The time before the next attempt to connect doubles from busRetry to maxBusRetry.
	busRetry    = 50 * time.Millisecond
	maxBusRetry = 2 * time.Second
	// mergeWindow is the time after a message in which further rings become one message.
	mergeWindow = 2 * time.Millisecond
	// maxUnread is the number of received commits that wait for the reader.
	maxUnread = 16
)

// newBus returns a bus between the hubs of the schema that config selects. It connects in the
// background, and again whenever the connection is lost, until Close. config is the bus's own, made by
// writerConfig, because its wait can be ended without losing the connection. The connection has to be
// direct, or through a pooler in session mode.
func newBus(config *pgx.ConnConfig, log *slog.Logger) bus.Bus {
	// A commit with NOTIFY writes to the WAL. It has nothing to keep.
	config.RuntimeParams["synchronous_commit"] = "off"
	config.RuntimeParams["application_name"] = "hookback bus"
	ctx, stop := context.WithCancel(context.Background())
	b := &notifyBus{config: config, log: log, rings: make(chan int64, maxUnread), stop: stop, done: make(chan struct{})}
	go b.run(ctx)
	return b
}

// Up implements bus.Link.
func (b *notifyBus) Up() bool { return b.wake.Load() != nil }

// Rings implements bus.Bus.
func (b *notifyBus) Rings() <-chan int64 { return b.rings }

// Stats implements bus.Link.
func (b *notifyBus) Stats() bus.Stats {
	return bus.Stats{Sent: b.sent.Load(), Received: b.received.Load(), Dropped: b.dropped.Load()}
}

// Close implements bus.Link.
func (b *notifyBus) Close() error {
	b.stop()
	<-b.done
	return nil
}

// Ring implements bus.Bus. It passes the commit to the connection's goroutine.
func (b *notifyBus) Ring(commit int64) {
	if !b.Up() {
		b.dropped.Add(1)
		return
	}
	for {
		newest := b.newest.Load()
		if commit <= newest {
			return // it is on its way
		}
		if b.newest.CompareAndSwap(newest, commit) {
			break
		}
	}
	if wake := b.wake.Load(); wake != nil {
		(*wake)()
	}
}

// run keeps a connection until ctx ends.
func (b *notifyBus) run(ctx context.Context) {
	defer close(b.done)
	retry := busRetry
	for isFirst := true; ; isFirst = false {
		start := time.Now()
		err := b.serve(ctx)
		wasUp := b.wake.Swap(nil) != nil
		if ctx.Err() != nil {
			return
		}
		if wasUp || isFirst { // not at each attempt
			b.log.Warn("bus disconnected", "err", err)
		}
		if retry = min(2*retry, maxBusRetry); time.Since(start) > maxBusRetry {
			retry = busRetry
		}
		if !feed.Sleep(ctx, retry) {
			return
		}
	}
}

// serve connects, and sends and receives until the connection is lost or ctx ends.
func (b *notifyBus) serve(ctx context.Context) error {
	conn, channel, err := b.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), busTimeout)
		defer cancel()
		_ = conn.Close(ctx) // it is lost, or the hub stops
	}()
	if b.newest.Swap(0) > 0 { // rung when the last connection was lost
		b.dropped.Add(1)
	}
	b.log.Info("bus connected", "channel", channel)
	for err == nil {
		wait, wake := context.WithTimeout(ctx, busIdle)
		b.wake.Store(&wake)
		if commit := b.newest.Swap(0); commit > 0 {
			err = b.send(ctx, conn, channel, commit)
		} else if err = b.receive(wait, conn); err != nil && errors.Is(wait.Err(), context.DeadlineExceeded) {
			err = b.exchange(ctx, conn, `SELECT`)
		} else if errors.Is(wait.Err(), context.Canceled) {
			err = ctx.Err() // there is a commit to send
		}
		wake()
	}
	return err
}

// send sends a commit, and receives until the end of the window in which others are merged.
func (b *notifyBus) send(ctx context.Context, conn *pgx.Conn, channel string, commit int64) error {
	if err := b.exchange(ctx, conn, `SELECT pg_notify($1, $2)`, channel, bus.Encode(commit)); err != nil {
		b.dropped.Add(1)
		return err
	}
	b.sent.Add(1)
	window, cancel := context.WithTimeout(ctx, mergeWindow)
	defer cancel()
	for {
		if err := b.receive(window, conn); err != nil && window.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return err
		}
	}
}

func (b *notifyBus) receive(ctx context.Context, conn *pgx.Conn) error {
	n, err := conn.WaitForNotification(ctx)
	if n != nil && n.PID != conn.PgConn().PID() { // not by this hub
		b.take(n.Payload)
	}
	return err
}

// take takes a message of another hub. If no one reads the commits, the oldest are dropped.
func (b *notifyBus) take(message string) {
	commit, ok := bus.Decode(message)
	if !ok {
		return
	}
	b.received.Add(1)
	for {
		select {
		case b.rings <- commit:
			return
		default:
		}
		select {
		case <-b.rings:
			b.dropped.Add(1)
		default:
		}
	}
}

func (b *notifyBus) exchange(ctx context.Context, conn *pgx.Conn, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, statement, args...)
	return err
}

// listen connects and listens on the channel of the schema.
func (b *notifyBus) listen(ctx context.Context) (conn *pgx.Conn, channel string, err error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	if conn, err = pgx.ConnectConfig(ctx, b.config); err != nil {
		return nil, "", err
	}
	// A name of 63 bytes would not fit behind a prefix.
	err = conn.QueryRow(ctx, `SELECT 'hookback_' || md5(current_schema())`).Scan(&channel)
	if err == nil {
		_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	return conn, channel, nil
}
