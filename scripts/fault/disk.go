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

// errSkipped reports that a run was skipped, and errNoRoot that it cannot mount a file system.
var (
	errSkipped = errors.New("skipped")
	errNoRoot  = fmt.Errorf("%w: mounting a file system requires root", errSkipped)
)

// diskRun fills the hub's disk. The hub must still store questions and answers, refuse
// other events with 507, and recover when space is available.
func diskRun(ctx context.Context, at workspace) (err error) {
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
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop(), hub.checkDatabase(ctx)) }()

	d := &diskScenario{hub: hub, filler: filepath.Join(at.dir, "filler")}
	if err := d.askMany(ctx, 50); err != nil {
		return fmt.Errorf("with free space: %w", err)
	}
	if err := d.fill(ctx); err != nil {
		return err
	}
	if err := d.askMany(ctx, 50); err != nil {
		return fmt.Errorf("ask with a full disk: %w", err)
	}
	if err := d.answerAll(ctx); err != nil {
		return fmt.Errorf("answer with a full disk: %w", err)
	}
	if err := d.event(ctx); !errors.Is(err, schema.ErrFull) {
		return fmt.Errorf("plain event with a full disk: got %[2]w, expected %[1]w", schema.ErrFull, err)
	}
	recovered, err := d.recover(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(at.out, "disk: %d events stored until it was full, then %d questions asked and answered, plain events accepted again after %d ms\n",
		d.events, len(d.ids), recovered.Milliseconds())
	return d.readBack(ctx)
}

// diskScenario is a hub with a small disk.
type diskScenario struct {
	hub    *hubProcess
	filler string
	events int
	ids    []schema.EventID // ids of the questions
}

func (d *diskScenario) event(ctx context.Context) error {
	e := schema.Event{
		SourceApp: "filler", SessionID: "s", HookEventType: "PostToolUse",
		Payload: []byte(`{"output":"` + strings.Repeat("x", 60<<10) + `"}`),
	}
	return d.hub.post(ctx, schema.PathEvents, e, nil)
}

func (d *diskScenario) askMany(ctx context.Context, n int) error {
	for range n {
		id, err := d.hub.ask(ctx, "May I?")
		if err != nil {
			return err
		}
		d.ids = append(d.ids, id)
	}
	return nil
}

// fill sends events until they are refused, then fills the last free bytes.
func (d *diskScenario) fill(ctx context.Context) error {
	for d.events < 10_000 {
		if err := d.event(ctx); errors.Is(err, schema.ErrFull) {
			break
		} else if err != nil {
			return fmt.Errorf("fill disk: %w", err)
		}
		d.events++
	}
	return fillDisk(d.filler)
}

// fillDisk writes a file until its disk is full.
func fillDisk(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for range 100_000 {
		if _, err := f.Write(block); err != nil {
			return nil //nolint:nilerr // the disk is meant to be full
		}
	}
	return errors.New("the disk did not fill up")
}

func (d *diskScenario) answerAll(ctx context.Context) error {
	for _, id := range d.ids {
		if err := d.hub.approve(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// recover enlarges the disk and waits until plain events are accepted.
func (d *diskScenario) recover(ctx context.Context) (time.Duration, error) {
	if err := os.Remove(d.filler); err != nil {
		return 0, err
	}
	// Stored events keep their space, so the disk grows.
	if err := command(ctx, "mount", "-o", "remount,size=256m", filepath.Dir(d.filler)); err != nil {
		return 0, err
	}
	began := time.Now()
	for time.Since(began) < 2*time.Second {
		if err := d.event(ctx); err == nil {
			return time.Since(began), nil
		}
		sleep(ctx, 20*time.Millisecond)
	}
	return 0, errors.New("plain events are still refused 2 s after space was freed")
}

func (d *diskScenario) readBack(ctx context.Context) error {
	for _, id := range d.ids {
		var a schema.Answer
		if err := d.hub.get(ctx, schema.At(schema.PathResponse, id), &a); err != nil {
			return fmt.Errorf("read answer %d: %w", id, err)
		}
		if a.Permission == nil || !*a.Permission {
			return fmt.Errorf("answer %d differs from the one given", id)
		}
	}
	return nil
}

// command runs a system program.
func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
