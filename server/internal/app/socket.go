package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/hub"
)

// noSocket is the value of -socket for a hub without a Unix socket.
const noSocket = "off"

// openSocket opens the hub's Unix socket in addition to its TCP listeners. If the default path
// cannot be used, the hub runs without a socket.
func (a *App) openSocket() error {
	if a.cfg.Socket == noSocket || a.cfg.Socket == "" && !socket.Supported {
		return nil
	}
	path := a.cfg.Socket
	if path == "" {
		var err error
		if path, err = socket.HubPath(strconv.Itoa(portOf(a.listeners[0]))); err != nil {
			level := slog.LevelWarn
			if errors.As(err, new(user.UnknownUserIdError)) { // usual in containers, whose clients use TCP
				level = slog.LevelDebug
			}
			a.log.Log(context.Background(), level, "no Unix socket", "err", err)
			return nil
		}
	}
	if len(path) > socket.MaxPath {
		a.log.Warn("no Unix socket, its path is too long", "path", path, "bytes", len(path), "limit", socket.MaxPath)
		return nil
	}
	ln, err := listenSocket(path, a.socketMode())
	switch {
	case err == nil:
		a.socket = ln
	case a.cfg.Socket != "":
		return fmt.Errorf("-socket %s: %w", path, err)
	default:
		a.log.Warn("no Unix socket", "path", path, "err", err)
	}
	return nil
}

// freezesFile is the file beside the hub's socket in which it repeats its active freezes.
type freezesFile struct {
	path string
	mode fs.FileMode
	log  *slog.Logger
}

// freezeWriter returns the hub's file of freezes; nil without a socket.
func (a *App) freezeWriter() hub.FreezeWriter {
	if a.socket == nil {
		return nil
	}
	return &freezesFile{socket.FreezesFile(a.socket.Addr().String()), a.socketMode() & 0o644, a.log}
}

// Write implements hub.FreezeWriter.
func (f *freezesFile) Write(freezes []control.Freeze) {
	if err := socket.WriteFreezes(f.path, freezes, f.mode); err != nil {
		f.log.Error("active freezes not repeated in a file; hooks that can't reach the hub don't know them", "err", err)
	}
}

// removeFreezesFile removes the file unless agents are frozen: they stay so while the hub is stopped.
func (a *App) removeFreezesFile() {
	if a.socket != nil && len(a.store.ActiveFreezes()) == 0 {
		_ = os.Remove(socket.FreezesFile(a.socket.Addr().String()))
	}
}

// socketMode keeps other accounts from connecting unless they are admitted: their clients
// then use TCP, where a token works.
func (a *App) socketMode() fs.FileMode {
	if accounts := a.cfg.localAccounts(); accounts.All || len(accounts.UIDs) > 0 {
		return 0o666
	}
	return 0o600
}

// listenSocket listens at path. It creates the directory and removes a socket that a killed
// hub left.
func listenSocket(path string, mode fs.FileMode) (net.Listener, error) {
	dir := filepath.Dir(path)
	dirMode := fs.FileMode(0o700)
	if dir == socket.SystemDir {
		dirMode = 0o755 // the hub's clients have other accounts
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	if err := socket.CheckDir(dir); err != nil {
		return nil, err
	}
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// removeStaleSocket removes the socket at path if nothing listens on it.
func removeStaleSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the file is not a socket; choose another path")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return errors.New("another program listens on it")
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	default:
		return err
	}
}
