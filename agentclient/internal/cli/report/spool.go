package report

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

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
)

// Bounds of the spool. Beyond them the oldest events are dropped.
const (
	MaxFiles      = 1000
	maxSpoolBytes = 16 << 20
	maxSpoolEvent = 1 << 20 // of one event; a larger one is stored without its payload
	maxSpoolBatch = 1 << 20 // of one request to the hub
	claimTTL      = 30 * time.Second
)

// Spool stores the events that no hub has accepted yet. Each event has a separate file, so
// concurrent hooks need no lock, and the incomplete file of a killed hook is skipped. It is
// best effort: on a full disk or without a home directory it stores nothing. An empty dir
// means that there is no spool.
//
// A file name consists of the time, a random number and the length of the file, so that
// order and total size are known without opening the files.
type Spool struct{ dir string }

// NewSpool returns the spool in the state directory.
func NewSpool(env func(string) string) Spool {
	dir := account.StateDir(env)
	if dir == "" {
		return Spool{}
	}
	return Spool{filepath.Join(dir, "spool")}
}

var errNoSpool = errors.New("no state directory")

// Keep stores e. isFirst reports whether the spool was empty before.
func (s Spool) Keep(e schema.Event) (isFirst bool, err error) {
	if s.dir == "" {
		return false, errNoSpool
	}
	if len(e.Payload) > maxSpoolEvent/2 {
		e.Payload = fmt.Appendf(nil, `{"hookback":"left out %d bytes: the hub could not be reached"}`, len(e.Payload))
	}
	parts, err := EncodeEvent(&e)
	if err != nil {
		return false, err
	}
	text := bytes.Join(parts, nil)
	if len(text) > maxSpoolEvent {
		return false, fmt.Errorf("event too large to store: %d bytes", len(text))
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false, err
	}
	existing := s.list()
	s.makeRoom(existing, len(text))
	name := fmt.Sprintf("%013d-%016x-%d.json", time.Now().UnixMilli(), rand.Uint64(), len(text))
	temporary := filepath.Join(s.dir, "."+name)
	if err = os.WriteFile(temporary, text, 0o600); err == nil {
		err = os.Rename(temporary, filepath.Join(s.dir, name))
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return len(existing) == 0, err
}

// Len returns the number of stored events.
func (s Spool) Len() int { return len(s.list()) }

// list returns the names of the stored events, the oldest first. It removes abandoned
// temporary files.
func (s Spool) list() []string {
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

// isAbandoned reports whether name is the temporary file of a hook that was killed.
func (s Spool) isAbandoned(name string) bool {
	rest, hidden := strings.CutPrefix(name, ".")
	stamp, _, _ := strings.Cut(rest, "-")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	return hidden && err == nil && time.Since(time.UnixMilli(ms)) > claimTTL
}

// lengthInName returns the length in a file name, or -1 if it is not an event's.
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

// makeRoom removes the oldest events until an event of length bytes fits.
func (s Spool) makeRoom(names []string, length int) {
	total := length
	for _, name := range names {
		total += lengthInName(name)
	}
	for count := len(names) + 1; len(names) > 0 && (count > MaxFiles || total > maxSpoolBytes); count-- {
		_ = os.Remove(filepath.Join(s.dir, names[0]))
		total -= lengthInName(names[0])
		names = names[1:]
	}
}

// Flush sends the stored events in batches, the oldest first, until the spool is empty, post
// fails or the deadline has passed. Only one hook flushes at a time. If a hook is killed, its
// batch is sent again, and the hub deduplicates it by idempotency key.
func (s Spool) Flush(deadline time.Time, post func(body net.Buffers) ([]byte, error)) {
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
		case errors.As(err, new(RejectionError)) && len(batch.sendable) > 1:
			names, maxEvents = s.list(), max(1, len(batch.sendable)/2)
		case errors.As(err, new(RejectionError)):
			s.remove(batch.all)
		case err != nil || json.Unmarshal(answer, &results) != nil || len(results) != len(batch.sendable):
			return
		default:
			for i, r := range results {
				if r.Problem != nil && r.Problem.Status >= 500 {
					return // a temporary failure of the hub
				}
				s.remove(batch.sendable[i : i+1])
			}
			s.remove(batch.all)
		}
	}
}

// batch is the content of one request.
type batch struct {
	all      []string // file names, including missing and torn files
	sendable []string // file names of the events in the request
}

func (s Spool) batch(names []string, maxEvents int) (b batch, body net.Buffers) {
	total := 0
	for _, name := range names[:min(maxEvents, len(names))] {
		if total += lengthInName(name); total > maxSpoolBatch && len(b.all) > 0 {
			break
		}
		b.all = append(b.all, name)
		file := filepath.Join(s.dir, name)
		if !cli.IsRegularFile(file) {
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

func (s Spool) remove(names []string) {
	for _, name := range names {
		_ = os.Remove(filepath.Join(s.dir, name))
	}
}

func (s Spool) claimFile() string { return filepath.Join(s.dir, "sending") }

// claim acquires the right to flush, a lease that expires after claimTTL.
func (s Spool) claim() bool {
	if info, err := os.Stat(s.claimFile()); err == nil && time.Since(info.ModTime()) > claimTTL {
		_ = os.Remove(s.claimFile())
	}
	f, err := os.OpenFile(s.claimFile(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
