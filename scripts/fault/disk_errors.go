package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// failingDisk is an ext4 file system in a sparse image on a small tmpfs. When the tmpfs is full,
// the disk takes writes into the page cache and fails when they are synced.
type failingDisk struct{ memory, image, mount, filler string }

func newFailingDisk(ctx context.Context, dir string) (*failingDisk, error) {
	d := &failingDisk{memory: filepath.Join(dir, "memory"), mount: filepath.Join(dir, "mnt")}
	d.image, d.filler = filepath.Join(d.memory, "disk.img"), filepath.Join(d.memory, "filler")
	if err := errors.Join(os.MkdirAll(d.memory, 0o700), os.MkdirAll(d.mount, 0o700)); err != nil {
		return nil, err
	}
	if err := command(ctx, "mount", "-t", "tmpfs", "-o", "size=160m,mode=0700", "tmpfs", d.memory); err != nil {
		return nil, err
	}
	err := command(ctx, "truncate", "-s", "1G", d.image)
	if err == nil {
		err = command(ctx, "mkfs.ext4", "-q", "-F", d.image)
	}
	if err == nil {
		err = d.attach(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, command(ctx, "umount", d.memory))
	}
	return d, nil
}

func (d *failingDisk) attach(ctx context.Context) error {
	return command(ctx, "mount", "-o", "loop", d.image, d.mount)
}

func (d *failingDisk) detach(ctx context.Context) error { return command(ctx, "umount", d.mount) }

func (d *failingDisk) remove(ctx context.Context) error { return command(ctx, "umount", d.memory) }

// ioRun makes the disk of a hub fail: first when it syncs, then when it writes. Everything
// that was acknowledged must be there when the disk works again.
func ioRun(ctx context.Context, at workspace) (err error) {
	if os.Geteuid() != 0 {
		return errNoRoot
	}
	disk, err := newFailingDisk(ctx, at.dir)
	if err != nil {
		return err
	}
	cleanUp := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, disk.remove(cleanUp)) }()
	hub, err := newHubProcess(at.bin, filepath.Join(disk.mount, "hub.db"))
	if err != nil {
		return errors.Join(err, disk.detach(cleanUp))
	}
	defer func() { err = errors.Join(err, hub.kill(), disk.detach(cleanUp)) }()
	acked := ackedEvents{}
	if err := errors.Join(hub.start(ctx), acked.postMany(ctx, hub, 100)); err != nil {
		return err
	}

	if err := fillDisk(disk.filler); err != nil {
		return err
	}
	beforeSync := len(acked)
	if err := acked.postUntilHubEnds(ctx, hub); err != nil {
		return err
	}
	if err := errors.Join(disk.detach(ctx), os.Remove(disk.filler), disk.attach(ctx), hub.start(ctx), acked.verify(ctx, hub)); err != nil {
		return fmt.Errorf("after a failed fsync: %w", err)
	}
	fmt.Fprintf(at.out, "io: fsync failed after %d more events, the hub ended with status 1, and the next one has all %d\n", len(acked)-beforeSync, len(acked))

	if err := errors.Join(acked.postMany(ctx, hub, 50), cutPower(disk.mount)); err != nil {
		return err
	}
	took, err := acked.postUntilRefused(ctx, hub, 2*time.Second, "the disk reports an error")
	if err != nil {
		return err
	}
	if err := errors.Join(hub.kill(), disk.detach(ctx), disk.attach(ctx), hub.start(ctx),
		acked.verify(ctx, hub), hub.checkDatabase(ctx)); err != nil {
		return fmt.Errorf("after a failed write: %w", err)
	}
	fmt.Fprintf(at.out, "io: a write failed, events were refused after %d ms, and the next hub has all %d\n", took.Milliseconds(), len(acked))
	return nil
}

// postUntilHubEnds sends big events until the hub ends, which must report the failed fsync.
func (a ackedEvents) postUntilHubEnds(ctx context.Context, hub *hubProcess) error {
	ended := make(chan error, 1)
	cmd := hub.cmd
	go func() { ended <- cmd.Wait() }()
	payload := `{"output":"` + strings.Repeat("x", 200<<10) + `"}`
	for began := time.Now(); time.Since(began) < time.Minute; {
		_ = a.post(ctx, hub, payload) // refused at the end
		select {
		case err := <-ended:
			hub.cmd = nil
			if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(hub.stderr.String(), "fsync failed") {
				return fmt.Errorf("the hub ended with %w: %s", err, hub.stderr.String())
			}
			return nil
		default:
		}
	}
	return errors.Join(errors.New("the hub still runs"), cmd.Process.Kill(), <-ended)
}
