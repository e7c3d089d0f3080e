//go:build !linux && !darwin

package socket

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net"
)

// Supported reports whether this operating system has sockets that name accounts.
const Supported = false

// SystemDir is the directory of a hub that has an account for itself.
const SystemDir = ""

var errUnsupported = errors.New("this system's sockets do not name accounts")

// HubPath returns an error.
func HubPath(string) (string, error) { return "", errUnsupported }

func paths(string) iter.Seq[string] { return func(func(string) bool) {} }

func isFileOfHub(string) bool { return false }

// DialPath returns ErrNone.
func DialPath(context.Context, string) (net.Conn, error) { return nil, ErrNone }

// CheckDir returns an error.
func CheckDir(string) error { return errUnsupported }

// Owner returns -1.
func Owner(fs.FileInfo) int { return -1 }

// Peer returns an error.
func Peer(net.Conn) (uid uint32, pid int, err error) { return 0, 0, errUnsupported }
