package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hookback/hookback/schema"
)

const (
	// ext4Shutdown is EXT4_IOC_SHUTDOWN: the file system stops as it is, like a
	// disk that loses power.
	ext4Shutdown = 0x8004587d
	// noLogFlush drops what was written but not yet synced.
	noLogFlush = 2
	// writers report events at the same time while the power is cut.
	writers = 32
)

// powerRun cuts the power under load and counts what was acknowledged and is gone.
func powerRun(ctx context.Context, at site, cuts int) error {
	if os.Geteuid() != 0 {
		return errNoRoot
	}
	p := &power{image: filepath.Join(at.dir, "disk.img"), mount: filepath.Join(at.dir, "mnt"), acked: map[schema.EventID]string{}}
	if err := os.MkdirAll(p.mount, 0o700); err != nil {
		return err
	}
	if err := command(ctx, "truncate", "-s", "512M", p.image); err != nil {
		return err
	}
	if err := command(ctx, "mkfs.ext4", "-q", "-F", p.image); err != nil {
		return err
	}
	var err error
	if p.hub, err = newProcess(at.bin, filepath.Join(p.mount, "hub.db")); err != nil {
		return err
	}
	for cut := range cuts {
		if err := p.cycle(ctx); err != nil {
			return fmt.Errorf("cut %d: %w", cut+1, err)
		}
		if (cut+1)%10 == 0 {
			fmt.Fprintf(at.out, "power: %d cuts, %d acknowledged events, none lost\n", cut+1, len(p.acked))
		}
	}
	return nil
}

// power is a hub on a disk of its own that can be cut off.
type power struct {
	image, mount string
	hub          *process

	mu    sync.Mutex
	acked map[schema.EventID]string // :: id → uid
}

// cycle starts the hub, writes, cuts the power and looks for what was acknowledged.
func (p *power) cycle(ctx context.Context) (err error) {
	if err := command(ctx, "mount", "-o", "loop", p.image, p.mount); err != nil {
		return err
	}
	mounted := true
	defer func() {
		if mounted {
			err = errors.Join(err, p.hub.kill(), command(context.WithoutCancel(ctx), "umount", p.mount))
		}
	}()
	if err := p.hub.start(ctx); err != nil {
		return err
	}
	if err := p.write(ctx, time.Duration(100+rand.IntN(300))*time.Millisecond); err != nil {
		return err
	}
	mounted = false
	if err := command(ctx, "umount", p.mount); err != nil {
		return err
	}
	if err := command(ctx, "mount", "-o", "loop", p.image, p.mount); err != nil {
		return err
	}
	mounted = true
	if err := p.hub.start(ctx); err != nil {
		return err
	}
	if err := p.verify(ctx); err != nil {
		return err
	}
	if err := p.hub.stop(); err != nil {
		return err
	}
	return p.hub.check(ctx)
}

// write reports events until the power is cut. The hub is stopped first: it could
// otherwise acknowledge, from memory, what comes after the cut.
func (p *power) write(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for ctx.Err() == nil {
				p.report(ctx)
			}
		})
	}
	wait(ctx, d)
	err := p.hub.cmd.Process.Signal(syscall.SIGSTOP)
	if err == nil {
		err = cutOff(p.mount)
	}
	cancel()
	err = errors.Join(err, p.hub.kill())
	wg.Wait()
	return err
}

func (p *power) report(ctx context.Context) {
	e := schema.Event{SourceApp: "power", SessionID: "s", HookEventType: "PostToolUse", Payload: []byte(`{"n":1}`)}
	var saved schema.Event
	if post(ctx, p.hub.url()+schema.PathEvents, e, &saved) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked[saved.ID] = saved.UID
}

func (p *power) verify(ctx context.Context) error {
	found := map[schema.EventID]string{}
	for after := schema.EventID(0); ; {
		var page []schema.Event
		if err := get(ctx, fmt.Sprintf("%s%s?after=%d&limit=1000", p.hub.url(), schema.PathEvents, after), &page); err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			found[e.ID] = e.UID
			after = e.ID
		}
	}
	lost := 0
	for id, uid := range p.acked {
		if found[id] != uid {
			lost++
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d acknowledged events are gone", lost, len(p.acked))
	}
	return nil
}

// cutOff cuts the file system at dir off from its disk.
func cutOff(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, noLogFlush)
}
