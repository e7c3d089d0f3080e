package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// errNoRoot is why a run that mounts something was left out.
var errNoRoot = errors.New("left out: it mounts a file system, which takes root")

// diskRun fills the hub's disk. Questions and answers must still be stored, plain
// events refused with 507, and all be well again when there is room.
func diskRun(ctx context.Context, at site) (err error) {
	if os.Geteuid() != 0 {
		return errNoRoot
	}
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		return err
	}
	if err := command(ctx, "mount", "-t", "tmpfs", "-o", "size=96m,mode=0700", "tmpfs", at.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, command(context.WithoutCancel(ctx), "umount", at.dir)) }()
	hub, err := newProcess(at.bin, filepath.Join(at.dir, "hub.db"))
	if err != nil {
		return err
	}
	if err := hub.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop(), hub.check(ctx)) }()

	d := &fullDisk{hub: hub, filler: filepath.Join(at.dir, "filler")}
	if err := d.askMany(ctx, 50); err != nil {
		return fmt.Errorf("before the disk was full: %w", err)
	}
	if err := d.fill(ctx); err != nil {
		return err
	}
	if err := d.askMany(ctx, 50); err != nil {
		return fmt.Errorf("asking on a full disk: %w", err)
	}
	if err := d.answerAll(ctx); err != nil {
		return fmt.Errorf("answering on a full disk: %w", err)
	}
	if err := d.event(ctx); !errors.Is(err, schema.ErrFull) {
		return fmt.Errorf("a plain event on a full disk: want %w, got: %w", schema.ErrFull, err)
	}
	recovered, err := d.recover(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(at.out, "disk: %d events stored before it was full, %d questions asked and answered, plain events again after %d ms\n",
		d.events, len(d.ids), recovered.Milliseconds())
	return d.readBack(ctx)
}

// fullDisk is a hub whose disk is being filled.
type fullDisk struct {
	hub    *process
	filler string
	events int
	ids    []schema.EventID // of the questions
}

func (d *fullDisk) event(ctx context.Context) error {
	e := schema.Event{
		SourceApp: "filler", SessionID: "s", HookEventType: "PostToolUse",
		Payload: []byte(`{"output":"` + strings.Repeat("x", 60<<10) + `"}`),
	}
	return post(ctx, d.hub.url()+schema.PathEvents, e, nil)
}

func (d *fullDisk) askMany(ctx context.Context, n int) error {
	for range n {
		e := schema.Event{
			SourceApp: "asker", SessionID: "s", HookEventType: "DecisionPoint", Payload: []byte(`{}`),
			HumanInTheLoop: &schema.HumanInTheLoop{Question: "May I?", Type: schema.Permission},
		}
		var saved schema.Event
		if err := post(ctx, d.hub.url()+schema.PathEvents, e, &saved); err != nil {
			return err
		}
		d.ids = append(d.ids, saved.ID)
	}
	return nil
}

// fill posts events until they are refused, then takes the last free byte away.
func (d *fullDisk) fill(ctx context.Context) error {
	for d.events < 10_000 {
		if err := d.event(ctx); errors.Is(err, schema.ErrFull) {
			break
		} else if err != nil {
			return fmt.Errorf("filling the disk: %w", err)
		}
		d.events++
	}
	f, err := os.Create(d.filler)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for range 100_000 {
		if _, err := f.Write(block); err != nil {
			return nil //nolint:nilerr // no space left is what it is for
		}
	}
	return errors.New("the disk does not get full")
}

func (d *fullDisk) answerAll(ctx context.Context) error {
	yes := true
	for _, id := range d.ids {
		if err := post(ctx, d.hub.url()+schema.At(schema.PathRespond, id), schema.Response{Permission: &yes}, nil); err != nil {
			return err
		}
	}
	return nil
}

// recover makes room and waits for plain events to be taken again.
func (d *fullDisk) recover(ctx context.Context) (time.Duration, error) {
	if err := os.Remove(d.filler); err != nil {
		return 0, err
	}
	// What the events took is still taken: room comes from a larger disk.
	if err := command(ctx, "mount", "-o", "remount,size=256m", filepath.Dir(d.filler)); err != nil {
		return 0, err
	}
	began := time.Now()
	for time.Since(began) < 2*time.Second {
		if err := d.event(ctx); err == nil {
			return time.Since(began), nil
		}
		wait(ctx, 20*time.Millisecond)
	}
	return 0, errors.New("2 s after there was room, plain events are still refused")
}

func (d *fullDisk) readBack(ctx context.Context) error {
	for _, id := range d.ids {
		var a schema.Answer
		if err := get(ctx, d.hub.url()+schema.At(schema.PathResponse, id), &a); err != nil {
			return fmt.Errorf("the answer to %d: %w", id, err)
		}
		if a.Permission == nil || !*a.Permission {
			return fmt.Errorf("the answer to %d is not the one that was given", id)
		}
	}
	return nil
}

// command runs a program of the system.
func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
