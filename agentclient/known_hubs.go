package agentclient

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// Pin is a hub key that an account trusts. The key identifies the hub, not the address: a
// hub with the key may answer at any address.
type Pin struct {
	// Origin is the address that the key was pinned for, as scheme://host[:port]. Tokens are
	// sent only to the origins of pins.
	Origin string
	Key    ed25519.PublicKey
}

// KeyID returns the name of the key, as a hub prints it.
func (p Pin) KeyID() string { return schema.KeyID(p.Key) }

// String returns the key id and the origin.
func (p Pin) String() string { return p.KeyID() + " (" + p.Origin + ")" }

// line returns the pin's line in a file.
func (p Pin) line() string {
	return p.Origin + " " + pinAlgorithm + " " + sign.FormatPublicKey(p.Key) + "\n"
}

const (
	pinAlgorithm  = "ed25519"
	maxPinFile    = 1 << 20
	pinLockPeriod = 2 * time.Second  // how long a client waits for the lock of a pin file
	pinLockTTL    = 10 * time.Second // age of a lock whose process was killed
)

// originOf returns scheme://host:port of a hub's address, in lower case and without the
// default port of the scheme.
func originOf(hub string) (string, error) {
	u, err := url.Parse(hub)
	if err != nil || u.Hostname() == "" && u.Scheme != "unix" {
		return "", fmt.Errorf("%w: %q is not a hub address", schema.ErrInvalid, hub)
	}
	switch {
	case u.Scheme == "unix":
		return "unix://" + u.Path, nil
	case u.Scheme == "http":
		return strings.ToLower("http://" + strings.TrimSuffix(u.Host, ":80")), nil
	default:
		return strings.ToLower(u.Scheme + "://" + strings.TrimSuffix(u.Host, ":443")), nil
	}
}

// readPins reads a pin file whose owner must be one of owners and whose mode may only have
// the bits in allowed. The error wraps fs.ErrNotExist if there is no file.
func readPins(file string, allowed fs.FileMode, owners ...int) (pins []Pin, comments []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if err := checkOwner(f, allowed, owners...); err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPinFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxPinFile {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", file, maxPinFile)
	}
	number := 0
	for line := range bytes.Lines(plaintext.Decode(text)) {
		number++
		line := strings.TrimSpace(string(line))
		if line == "" || strings.HasPrefix(line, "#") {
			comments = append(comments, line)
			continue
		}
		pin, err := parsePin(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		pins = append(pins, pin)
	}
	return pins, comments, nil
}

// parsePin parses a line "ORIGIN ed25519 BASE64".
func parsePin(line string) (Pin, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[1] != pinAlgorithm {
		return Pin{}, errors.New("a line must have the form ORIGIN ed25519 BASE64")
	}
	origin, err := originOf(fields[0])
	if err != nil {
		return Pin{}, err
	}
	key, err := sign.ParsePublicKey(fields[2])
	return Pin{origin, key}, err
}

// updatePins rewrites a pin file atomically under a lock, and returns its new pins. update
// returns the pins to write; without a change the file is not written.
func updatePins(file string, update func([]Pin) []Pin) ([]Pin, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockFile(file + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, comments, err := readPins(file, userPinMode, os.Getuid())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	pins := update(slices.Clone(old))
	if slices.EqualFunc(pins, old, Pin.equal) {
		return pins, nil
	}
	var text strings.Builder
	for _, comment := range comments {
		text.WriteString(comment + "\n")
	}
	for _, pin := range pins {
		text.WriteString(pin.line())
	}
	return pins, atomicfile.Replace(file, []byte(text.String()), 0o600)
}

func (p Pin) equal(other Pin) bool { return p.Origin == other.Origin && p.Key.Equal(other.Key) }

// lockFile creates file as a lock and returns a function that removes it.
func lockFile(file string) (unlock func(), err error) {
	for deadline := time.Now().Add(pinLockPeriod); ; {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(file) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > pinLockTTL {
			_ = os.Remove(file)
			continue
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s exists: another program changes the known hubs", file)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
