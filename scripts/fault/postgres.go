package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postgresServer is a private PostgreSQL server on a loopback port. Its data is on a disk, with fsync.
type postgresServer struct {
	bin, dir, addr string
	account        *syscall.Credential // of the server's processes; nil: that of this program
	cmd            *exec.Cmd
}

// startPostgres creates a database cluster in a temporary folder, which its account can reach, and
// starts its server.
func startPostgres(ctx context.Context) (*postgresServer, error) {
	found, err := exec.CommandContext(ctx, "scripts/postgres.sh").Output()
	if err != nil {
		return nil, fmt.Errorf("%w: this run requires PostgreSQL", errSkipped)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hookback-fault-postgres-")
	if err != nil {
		return nil, err
	}
	p := &postgresServer{bin: strings.TrimSpace(string(found)), dir: dir, addr: addr}
	if err := p.lookUpAccount(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	initdb := p.command(ctx, "initdb", "--pgdata="+dir, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), p.remove())
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// remove stops the server and removes its files.
func (p *postgresServer) remove() error { return errors.Join(p.stop(), os.RemoveAll(p.dir)) }

// lookUpAccount chooses another account if this program runs as root, because PostgreSQL refuses that.
func (p *postgresServer) lookUpAccount() error {
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return err
	}
	p.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(p.dir, uid, gid)
}

func (p *postgresServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.account}
	return cmd
}

// start starts the server and waits until it accepts connections.
func (p *postgresServer) start(ctx context.Context) error {
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	p.cmd = p.command(context.WithoutCancel(ctx), "postgres", "-D", p.dir, "-h", host, "-p", port, "-c", "unix_socket_directories=",
		"-c", "max_connections=200", "-c", "max_wal_size=256MB", "-c", "log_min_messages=fatal")
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for p.command(ready, "pg_isready", "--quiet", "--host="+host, "--port="+port).Run() != nil {
		if ready.Err() != nil {
			return errors.Join(errors.New("PostgreSQL does not start"), p.stop())
		}
		sleep(ready, 20*time.Millisecond)
	}
	return nil
}

// restart ends the server like a crash (pg_ctl stop -m immediate) and starts it again.
func (p *postgresServer) restart(ctx context.Context) error {
	if err := p.stop(); err != nil {
		return err
	}
	return p.start(ctx)
}

// stop is an immediate shutdown: the server recovers from its log at the next start.
func (p *postgresServer) stop() error {
	if p.cmd == nil {
		return nil
	}
	cmd := p.cmd
	p.cmd = nil
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// dsn returns the address of a database, reached at addr.
func (p *postgresServer) dsn(addr, database string) string {
	return "postgres://postgres@" + addr + "/" + database
}

// query executes a statement and returns its result as unaligned text.
func (p *postgresServer) query(ctx context.Context, database, statement string) (string, error) {
	out, err := p.command(ctx, "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname="+p.dsn(p.addr, database), "--command="+statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// dump returns all rows, without the rows of some tables.
func (p *postgresServer) dump(ctx context.Context, database string, without ...string) (string, error) {
	args := []string{"--data-only", "--inserts", "--dbname=" + p.dsn(p.addr, database)}
	for _, table := range without {
		args = append(args, "--exclude-table="+table)
	}
	out, err := p.command(ctx, "pg_dump", args...).Output()
	if err != nil {
		return "", fmt.Errorf("pg_dump: %w", err)
	}
	var rows strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) { // random
			rows.WriteString(line)
		}
	}
	return rows.String(), nil
}
