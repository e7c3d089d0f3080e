package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// site is where a run takes place.
type site struct {
	bin string    // the hub's binary
	dir string    // the run's own
	out io.Writer // for progress and figures
}

// build makes the hub's binary in dir.
func build(ctx context.Context, dir string) (bin string, err error) {
	bin = filepath.Join(dir, "hookback-server")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/hookback/hookback/server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the hub: %w\n%s", err, out)
	}
	return bin, nil
}

// process is a hub that can be killed and started again, on the same address and
// the same database.
type process struct {
	bin, db, addr string
	cmd           *exec.Cmd
	stderr        bytes.Buffer
}

// newProcess picks a free loopback port for a hub over the database db.
func newProcess(bin, db string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	return &process{bin: bin, db: db, addr: l.Addr().String()}, nil
}

func (p *process) url() string { return "http://" + p.addr }

// start starts the hub and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	p.stderr.Reset()
	p.cmd = exec.Command(p.bin, "-addr", p.addr, "-db", p.db, "-log-level", "error")
	p.cmd.Stdout, p.cmd.Stderr = &p.stderr, &p.stderr
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		if get(ready, p.url()+"/readyz", nil) == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ready.Done():
			tick.Stop()
			return errors.Join(fmt.Errorf("the hub does not get ready: %s", p.stderr.String()), p.kill())
		}
	}
}

// kill ends the hub as kill -9 does.
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

// stop asks the hub to end and waits for it.
func (p *process) stop() error { return p.end(syscall.SIGTERM) }

func (p *process) end(sig syscall.Signal) error {
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
	return err
}

// check verifies the database of a hub that is not running.
func (p *process) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, p.bin, "-db", p.db, "check").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the database does not pass its check: %w: %s", err, out)
	}
	return nil
}

// web is patient with a hub that is just being killed, and with nothing else.
var web = &http.Client{Timeout: 10 * time.Second}
