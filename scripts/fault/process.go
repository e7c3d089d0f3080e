package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// workspace holds the resources of a run.
type workspace struct {
	bin string    // the hub's binary
	dir string    // folder of the run
	out io.Writer // for progress and figures
}

// build compiles the hub into dir.
func build(ctx context.Context, dir string) (bin string, err error) {
	bin = filepath.Join(dir, "hookback-server")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/hookback/hookback/server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hub: %w\n%s", err, out)
	}
	return bin, nil
}

// hubProcess is a hub that can be killed and restarted with the same address and
// database.
type hubProcess struct {
	*client
	bin, db, addr string
	dir           string   // of its key and other files
	args, env     []string // in addition
	cmd           *exec.Cmd
	stderr        bytes.Buffer
}

// newHubProcess returns a stopped hub with database db on a free loopback port.
func newHubProcess(bin, db string) (*hubProcess, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	addr := l.Addr().String()
	return &hubProcess{client: newClient("http://" + addr), bin: bin, db: db, addr: addr, dir: filepath.Dir(db)}, nil
}

// startHub starts a hub with its database in the run's folder.
func (w workspace) startHub(ctx context.Context) (*hubProcess, error) {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, err
	}
	hub, err := newHubProcess(w.bin, filepath.Join(w.dir, "hub.db"))
	if err != nil {
		return nil, err
	}
	return hub, hub.start(ctx)
}

// start starts the hub and waits until it is ready.
func (p *hubProcess) start(ctx context.Context) error {
	p.stderr.Reset()
	args := append([]string{"-addr", p.addr, "-socket", "off", "-db", p.db, "-log-level", "error"}, p.args...)
	p.cmd = exec.Command(p.bin, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stderr, &p.stderr
	p.cmd.Env = append(append(os.Environ(), "GOMAXPROCS=2"), p.env...)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		if p.get(ready, "/readyz", nil) == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ready.Done():
			tick.Stop()
			return errors.Join(fmt.Errorf("the hub did not become ready: %s", p.stderr.String()), p.kill())
		}
	}
}

// kill ends the hub with SIGKILL.
func (p *hubProcess) kill() error { return p.signal(syscall.SIGKILL) }

// stop ends the hub with SIGTERM and waits.
func (p *hubProcess) stop() error { return p.signal(syscall.SIGTERM) }

func (p *hubProcess) signal(sig syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(sig)
	err := p.cmd.Wait()
	p.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) && sig == syscall.SIGKILL {
		return nil
	}
	if err != nil {
		printed := p.stderr.String()
		const shown = 3000
		start := strings.Index(printed, "panic:")
		if start < 0 {
			start = max(0, len(printed)-shown)
		}
		err = fmt.Errorf("the hub ended with %w: %s", err, printed[start:min(len(printed), start+shown)])
	}
	return err
}

// checkDatabase verifies the database of a hub that is not running.
func (p *hubProcess) checkDatabase(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, p.bin, "-db", p.db, "check").CombinedOutput()
	if err != nil {
		return fmt.Errorf("database check: %w: %s", err, out)
	}
	return nil
}
