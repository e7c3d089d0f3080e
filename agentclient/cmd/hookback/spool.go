package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// Bounds of the spool. Beyond them the oldest goes.
const (
	maxSpoolFiles = 1000
	maxSpoolBytes = 16 << 20
	maxSpoolEvent = 1 << 20 // of one event; a larger one is kept without its payload
	maxSpoolBatch = 1 << 20 // of one request to the hub
	claimTTL      = 30 * time.Second
)

// spool keeps events that no hub took until one does, each in a file of its own:
// hooks that run at the same time get into nobody's way, and one that is killed
// leaves a file that is skipped. It does its best: on a full disk or without a home
// nothing is kept.
//
// A file's name is the time, a random number and its length, so that bounds and
// order are known without opening any.
type spool struct{ dir string } // "": none

func newSpool(env func(string) string) spool {
	dir := stateDir(env)
	if dir == "" {
		return spool{}
	}
	return spool{filepath.Join(dir, "spool")}
}

var errNoSpool = errors.New("there is no directory to keep it in")

// keep stores e. first reports whether it is the only one.
func (s spool) keep(e schema.Event) (isFirst bool, err error) {
	if s.dir == "" {
		return false, errNoSpool
	}
	if len(e.Payload) > maxSpoolEvent/2 {
		e.Payload = fmt.Appendf(nil, `{"hookback":"left out %d bytes: the hub could not be reached"}`, len(e.Payload))
	}
	parts, err := encodeEvent(&e)
	if err != nil {
		return false, err
	}
	text := bytes.Join(parts, nil)
	if len(text) > maxSpoolEvent {
		return false, fmt.Errorf("it is too large to be kept: %d bytes", len(text))
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false, err
	}
	existing := s.list()
	s.makeRoom(existing, len(text))
	name := fmt.Sprintf("%013d-%016x-%d.json", time.Now().UnixMilli(), rand.Uint64(), len(text))
	temporary := filepath.Join(s.dir, "."+name)
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		_ = os.Remove(temporary)
		return false, err
	}
	if err := os.Rename(temporary, filepath.Join(s.dir, name)); err != nil {
		_ = os.Remove(temporary)
		return false, err
	}
	return len(existing) == 0, nil
}

// list names what is kept, the oldest first.
func (s spool) list() []string {
	if info, err := os.Stat(s.dir); err != nil || !info.IsDir() {
		return nil
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool {
		if s.isAbandoned(name) {
			_ = os.Remove(filepath.Join(s.dir, name))
		}
		return lengthInName(name) < 0
	})
	slices.Sort(names)
	return names
}

// isAbandoned reports whether a file was being written by a hook that was killed.
func (s spool) isAbandoned(name string) bool {
	rest, hidden := strings.CutPrefix(name, ".")
	stamp, _, _ := strings.Cut(rest, "-")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	return hidden && err == nil && time.Since(time.UnixMilli(ms)) > claimTTL
}

// lengthInName is the length in a file's name, or -1 for other files.
func lengthInName(name string) int {
	rest, ok := strings.CutSuffix(name, ".json")
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 || strings.HasPrefix(name, ".") {
		return -1
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// makeRoom takes the oldest away until one of length bytes fits.
func (s spool) makeRoom(names []string, length int) {
	total := length
	for _, name := range names {
		total += lengthInName(name)
	}
	for count := len(names) + 1; len(names) > 0 && (count > maxSpoolFiles || total > maxSpoolBytes); count-- {
		_ = os.Remove(filepath.Join(s.dir, names[0]))
		total -= lengthInName(names[0])
		names = names[1:]
	}
}

// flush sends what is kept, the oldest first, until it is gone, post fails or the
// time is up. One hook does so at a time; that an event is sent twice where one was
// killed does not matter, since its idempotency key is the same.
func (s spool) flush(deadline time.Time, post func(body net.Buffers) ([]byte, error)) {
	names := s.list()
	if len(names) == 0 || !s.claim() {
		return
	}
	defer func() { _ = os.Remove(s.claimFile()) }()
	for maxEvents := schema.MaxBatch; len(names) > 0 && time.Until(deadline) > 0; {
		batch, body := s.batch(names, maxEvents)
		names = names[len(batch.all):]
		if len(batch.sendable) == 0 {
			s.remove(batch.all)
			continue
		}
		answer, err := post(body)
		var results []struct{ Problem *schema.Problem }
		switch {
		case errors.As(err, new(rejectionError)) && len(batch.sendable) > 1:
			names, maxEvents = s.list(), max(1, len(batch.sendable)/2)
		case errors.As(err, new(rejectionError)):
			s.remove(batch.all)
		case err != nil || json.Unmarshal(answer, &results) != nil || len(results) != len(batch.sendable):
			return
		default:
			for i, r := range results {
				if r.Problem != nil && r.Problem.Status >= 500 {
					return // the hub has trouble
				}
				s.remove(batch.sendable[i : i+1])
			}
			s.remove(batch.all)
		}
	}
}

// batch is what goes into one request.
type batch struct {
	all      []string // including files that are gone, or torn
	sendable []string
}

func (s spool) batch(names []string, maxEvents int) (b batch, body net.Buffers) {
	total := 0
	for _, name := range names[:min(maxEvents, len(names))] {
		if total += lengthInName(name); total > maxSpoolBatch && len(b.all) > 0 {
			break
		}
		b.all = append(b.all, name)
		file := filepath.Join(s.dir, name)
		if !isRegularFile(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil || len(text) != lengthInName(name) || !json.Valid(text) {
			continue
		}
		separator := ","
		if len(b.sendable) == 0 {
			separator = "["
		}
		b.sendable = append(b.sendable, name)
		body = append(body, []byte(separator), text)
	}
	return b, append(body, []byte("]"))
}

func (s spool) remove(names []string) {
	for _, name := range names {
		_ = os.Remove(filepath.Join(s.dir, name))
	}
}

func (s spool) claimFile() string { return filepath.Join(s.dir, "sending") }

// claim lets one hook send at a time. A claim that is left behind doesn't last.
func (s spool) claim() bool {
	if info, err := os.Stat(s.claimFile()); err == nil && time.Since(info.ModTime()) > claimTTL {
		_ = os.Remove(s.claimFile())
	}
	f, err := os.OpenFile(s.claimFile(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
