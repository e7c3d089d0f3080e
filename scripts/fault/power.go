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
	// ext4Shutdown is EXT4_IOC_SHUTDOWN, which stops the file system like a disk that
	// loses power.
	ext4Shutdown = 0x8004587d
	// noLogFlush drops writes that are not synced.
	noLogFlush = 2
	// concurrentWriters is the number of goroutines that send events during a power cut.
	concurrentWriters = 32
)

// powerRun cuts the power under load and fails if an acknowledged event is lost.
func powerRun(ctx context.Context, at workspace, cuts int) error {
	if os.Geteuid() != 0 {
		return errNoRoot
	}
	p := &powerScenario{image: filepath.Join(at.dir, "disk.img"), mount: filepath.Join(at.dir, "mnt"), acknowledged: map[schema.EventID]string{}}
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
	if p.hub, err = newHubProcess(at.bin, filepath.Join(p.mount, "hub.db")); err != nil {
		return err
	}
	for cut := range cuts {
		if err := p.runCycle(ctx); err != nil {
			return fmt.Errorf("cut %d: %w", cut+1, err)
		}
		if (cut+1)%10 == 0 {
			fmt.Fprintf(at.out, "power: %d cuts, %d acknowledged events, none lost\n", cut+1, len(p.acknowledged))
		}
	}
	return nil
}

// powerScenario is a hub on a loop-mounted disk whose power can be cut.
type powerScenario struct {
	image, mount string
	hub          *hubProcess

	mu           sync.Mutex
	acknowledged map[schema.EventID]string // id → uid
}

// runCycle starts the hub, writes, cuts the power and verifies all acknowledged events.
func (p *powerScenario) runCycle(ctx context.Context) (err error) {
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
	if err := p.writeUntilCut(ctx, time.Duration(100+rand.IntN(300))*time.Millisecond); err != nil {
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
	return p.hub.checkDatabase(ctx)
}

// writeUntilCut sends events until the power is cut. It stops the hub first, which could
// otherwise acknowledge events from memory after the cut.
func (p *powerScenario) writeUntilCut(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range concurrentWriters {
		wg.Go(func() {
			for ctx.Err() == nil {
				p.report(ctx)
			}
		})
	}
	sleep(ctx, d)
	err := p.hub.cmd.Process.Signal(syscall.SIGSTOP)
	if err == nil {
		err = cutPower(p.mount)
	}
	cancel()
	err = errors.Join(err, p.hub.kill())
	wg.Wait()
	return err
}

func (p *powerScenario) report(ctx context.Context) {
	e := schema.Event{SourceApp: "power", SessionID: "s", HookEventType: "PostToolUse", Payload: []byte(`{"n":1}`)}
	var saved schema.Event
	if p.hub.post(ctx, schema.PathEvents, e, &saved) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acknowledged[saved.ID] = saved.UID
}

func (p *powerScenario) verify(ctx context.Context) error {
	found, err := p.hub.events(ctx)
	if err != nil {
		return err
	}
	lost := 0
	for id, uid := range p.acknowledged {
		if found[id].UID != uid {
			lost++
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d acknowledged events are lost", lost, len(p.acknowledged))
	}
	return nil
}

// cutPower disconnects the file system at dir from its disk.
func cutPower(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, noLogFlush)
}
