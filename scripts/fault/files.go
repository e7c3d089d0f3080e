package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// ackedEvents are the events that a hub acknowledged: id → uid.
type ackedEvents map[schema.EventID]string

// post sends an event and records it if the hub acknowledges it.
func (a ackedEvents) post(ctx context.Context, hub *hubProcess, payload string) error {
	var saved schema.Event
	e := schema.Event{SourceApp: "fault", SessionID: "s", HookEventType: "PostToolUse", Payload: []byte(payload)}
	if err := hub.post(ctx, schema.PathEvents, e, &saved); err != nil {
		return err
	}
	a[saved.ID] = saved.UID
	return nil
}

func (a ackedEvents) postMany(ctx context.Context, hub *hubProcess, n int) error {
	for range n {
		if err := a.post(ctx, hub, `{"n":1}`); err != nil {
			return err
		}
	}
	return nil
}

// verify fails if the hub does not have all events.
func (a ackedEvents) verify(ctx context.Context, hub *hubProcess) error {
	found, err := hub.events(ctx)
	if err != nil {
		return err
	}
	lost := 0
	for id, uid := range a {
		if found[id].UID != uid {
			lost++
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d acknowledged events are lost", lost, len(a))
	}
	return nil
}

// postUntilRefused sends events until one is refused with the error of a database that
// accepts no writes, and checks that the hub reports why.
func (a ackedEvents) postUntilRefused(ctx context.Context, hub *hubProcess, limit time.Duration, reason string) (time.Duration, error) {
	began := time.Now()
	for time.Since(began) < limit {
		err := a.post(ctx, hub, `{"n":2}`)
		if err == nil {
			continue
		}
		took := time.Since(began)
		if !errors.Is(err, schema.ErrStorage) {
			return took, fmt.Errorf("refused event: got %w, expected %w", err, schema.ErrStorage)
		}
		if err := hub.get(ctx, schema.PathReady, nil); err == nil || !strings.Contains(err.Error(), reason) {
			return took, fmt.Errorf("%s: got %w, expected %q", schema.PathReady, err, reason)
		}
		return took, nil
	}
	return limit, fmt.Errorf("events are still acknowledged after %s", limit)
}

// removedRun removes the database of a running hub. The hub must refuse events within 2 s, and
// a rescued copy must have everything that was acknowledged until then.
func removedRun(ctx context.Context, at workspace) (err error) {
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop()) }()
	acked := ackedEvents{}
	if err := acked.postMany(ctx, hub, 500); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(hub.db + suffix); err != nil {
			return err
		}
	}
	took, err := acked.postUntilRefused(ctx, hub, 2*time.Second, "was removed")
	if err != nil {
		return err
	}
	rescued := filepath.Join(at.dir, "rescued.db")
	out, err := exec.CommandContext(ctx, hub.bin, "-db", hub.db, "rescue", rescued).CombinedOutput()
	if err != nil {
		return fmt.Errorf("rescue: %w: %s", err, out)
	}
	if err := hub.stop(); err != nil {
		return err
	}
	if err := hub.requireRefusedStart(ctx, "the database is missing"); err != nil {
		return err
	}
	for _, suffix := range []string{".lock", ".ballast"} {
		if err := os.Remove(hub.db + suffix); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Rename(rescued, hub.db), hub.start(ctx), acked.verify(ctx, hub), hub.checkDatabase(ctx)); err != nil {
		return err
	}
	fmt.Fprintf(at.out, "removed: refused after %d ms, a copy of the removed database has all %d acknowledged events\n", took.Milliseconds(), len(acked))
	return nil
}

// requireRefusedStart starts a second process with the hub's database, which must fail with
// a message that contains text.
func (p *hubProcess) requireRefusedStart(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.bin, "-addr", "127.0.0.1:0", "-socket", "off", "-db", p.db).CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), text) {
		return fmt.Errorf("start with %s: got %w and %q, expected %q", p.db, err, out, text)
	}
	return nil
}

// hardLinkRun starts a second hub on other names of a running hub's database.
func hardLinkRun(ctx context.Context, at workspace) (err error) {
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.stop(), hub.checkDatabase(ctx)) }()
	acked := ackedEvents{}
	if err := acked.postMany(ctx, hub, 50); err != nil {
		return err
	}
	link := filepath.Join(at.dir, "link")
	other := filepath.Join(at.dir, "other.db")
	if err := errors.Join(os.Symlink(at.dir, link), os.Link(hub.db, other)); err != nil {
		return err
	}
	process := "process " + strconv.Itoa(hub.cmd.Process.Pid)
	for _, name := range []string{other, filepath.Join(link, filepath.Base(hub.db))} {
		second := &hubProcess{bin: hub.bin, db: name}
		if err := second.requireRefusedStart(ctx, process); err != nil {
			return err
		}
	}
	if err := errors.Join(acked.postMany(ctx, hub, 50), acked.verify(ctx, hub)); err != nil {
		return err
	}
	fmt.Fprintf(at.out, "hardlink: a second hub was refused through a hard link and a linked folder, %d events kept\n", len(acked))
	return nil
}
