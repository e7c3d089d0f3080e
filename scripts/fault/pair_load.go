package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hookback/hookback/schema"
)

// pairLoad runs the questions and answers of the kill run on two hubs, with other faults.
func pairLoad(
	ctx context.Context, name string, at workspace, l load, strike func(ctx context.Context, p *pair, s *killScenario) error,
) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	s := newKillScenario(name, at, l, p.hubs[:]...)
	s.strike = func(ctx context.Context, s *killScenario) error { return strike(ctx, p, s) }
	return errors.Join(s.execute(ctx, at.out), p.verifyLog(ctx))
}

// pairKillRun kills one of two hubs at a time.
func pairKillRun(ctx context.Context, at workspace, l load) error {
	return pairLoad(ctx, "pair-kill", at, l, func(ctx context.Context, _ *pair, s *killScenario) error { return killAny(ctx, s) })
}

// restarts is the number of crashes of the database server.
const restarts = 10

// pairRestartRun restarts the database server like after a crash. The hubs continue without a restart.
func pairRestartRun(ctx context.Context, at workspace, l load) error {
	l.Kills = restarts
	return pairLoad(ctx, "pair-restart", at, l, func(ctx context.Context, p *pair, s *killScenario) error {
		if err := p.postgres.restart(ctx); err != nil {
			return err
		}
		for _, hub := range s.hubs {
			if err := hub.awaitReady(ctx, true); err != nil {
				return fmt.Errorf("after a restart of the database server: %w", err)
			}
		}
		return nil
	})
}

const (
	pauses = 50
	// longPause is longer than another hub waits before it takes over the work.
	longPause = 6500 * time.Millisecond
	// maxBlocked is how long a paused hub may block the other one.
	maxBlocked = 6 * time.Second
)

// pairPauseRun stops one hub for a while, and continues it. It prints how long the other one was blocked.
func pairPauseRun(ctx context.Context, at workspace, l load) error {
	l.Kills = pauses
	var longest atomic.Int64
	count := 0
	err := pairLoad(ctx, "pair-pause", at, l, func(ctx context.Context, p *pair, _ *killScenario) error {
		stopped := rand.IntN(2)
		process := p.hubs[stopped].cmd.Process
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		count++
		began := time.Now()
		err := p.hubs[1-stopped].postEvent(ctx)
		blocked := time.Since(began)
		longest.Store(max(longest.Load(), int64(blocked)))
		if count%10 == 0 {
			sleep(ctx, longPause)
		}
		if err == nil && blocked > maxBlocked {
			err = fmt.Errorf("the other hub was blocked for %s", blocked)
		}
		return errors.Join(err, process.Signal(syscall.SIGCONT))
	})
	fmt.Fprintf(at.out, "pair-pause: the other hub was blocked for at most %.0f ms\n", milliseconds(time.Duration(longest.Load())))
	return err
}

// postEvent posts one event until it is acknowledged.
func (p *hubProcess) postEvent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := p.post(ctx, schema.PathEvents, schema.Event{SourceApp: "fault", SessionID: "s", HookEventType: "Stop", Payload: []byte(`{}`)}, nil)
		if err == nil || ctx.Err() != nil {
			return err
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// awaitReady waits until the hub is ready, or not.
func (p *hubProcess) awaitReady(ctx context.Context, want bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for (p.get(ctx, schema.PathReady, nil) == nil) != want {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: the hub is not ready in time, or does not notice a fault", os.ErrDeadlineExceeded)
		}
		sleep(ctx, 5*time.Millisecond)
	}
	return nil
}
