package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// clockRun starts a hub whose clock is 40 days ahead of its newest event, as after a wrong
// setting. It makes the events older instead of changing the clock of the machine. Retention
// must remove nothing, and with -trust-clock everything.
func clockRun(ctx context.Context, at workspace) (err error) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		return fmt.Errorf("%w: this run requires sqlite3", errSkipped)
	}
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop(), hub.checkDatabase(ctx)) }()
	acked := ackedEvents{}
	if err := errors.Join(acked.postMany(ctx, hub, 500), hub.stop()); err != nil {
		return err
	}
	age := (40 * 24 * time.Hour).Milliseconds()
	statements := fmt.Sprintf(`UPDATE events SET received_at = received_at - %[1]d; UPDATE streams SET received = received - %[1]d;
		UPDATE time_marks SET received_at = received_at - %[1]d, previous = previous - %[1]d;`, age)
	if err := errors.Join(command(ctx, "sqlite3", hub.db, statements), hub.start(ctx)); err != nil {
		return err
	}
	sleep(ctx, 5*time.Second) // retention runs at the start
	if err := errors.Join(acked.verify(ctx, hub), hub.stop()); err != nil {
		return fmt.Errorf("with a clock 40 days ahead: %w", err)
	}
	hub.args = []string{"-trust-clock"}
	if err := hub.start(ctx); err != nil {
		return err
	}
	left := 0
	for began := time.Now(); time.Since(began) < 30*time.Second; sleep(ctx, 50*time.Millisecond) {
		found, err := hub.events(ctx)
		if err != nil {
			return err
		}
		if left = len(found); left == 0 {
			fmt.Fprintf(at.out, "clock: %d events kept by a hub 40 days ahead, and removed with -trust-clock\n", len(acked))
			return nil
		}
	}
	return fmt.Errorf("-trust-clock left %d events", left)
}
