package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func newEvent(session string) schema.Event {
	return schema.Event{SourceApp: "a", SessionID: session, HookEventType: "Stop", Payload: json.RawMessage(`{"x":1}`)}
}

// batchHub is a hub that accepts batches, unless fail returns an error.
type batchHub struct {
	batches [][]schema.Event
	fail    func(batch []schema.Event) error
}

func (k *batchHub) post(body net.Buffers) ([]byte, error) {
	var events []schema.Event
	var text []byte
	for _, part := range body {
		text = append(text, part...)
	}
	if err := json.Unmarshal(text, &events); err != nil {
		return nil, err
	}
	if k.fail != nil {
		if err := k.fail(events); err != nil {
			return nil, err
		}
	}
	k.batches = append(k.batches, events)
	results := make([]schema.BatchResult, len(events))
	for i := range events {
		results[i].Event = &events[i]
	}
	return json.Marshal(results)
}

func (k *batchHub) sessions() (all []string) {
	for _, b := range k.batches {
		for _, e := range b {
			all = append(all, e.SessionID)
		}
	}
	return all
}

func (k *batchHub) Flush(s Spool) { s.Flush(time.Now().Add(time.Minute), k.post) }

func newTestSpool(t *testing.T) Spool { return Spool{filepath.Join(t.TempDir(), "deep", "spool")} }

// fillSpool stores n events in the order of their sessions.
func fillSpool(t *testing.T, s Spool, n int) (sessions []string) {
	t.Helper()
	for i := range n {
		session := fmt.Sprintf("s%d", i)
		first, err := s.Keep(newEvent(session))
		require.NoError(t, err)
		require.Equal(t, i == 0, first)
		names := s.list()
		// The order within one millisecond is undefined, so each file gets a different time.
		old := names[len(names)-1]
		for _, name := range names {
			if !strings.HasPrefix(name, "00000000") {
				old = name
			}
		}
		_, rest, _ := strings.Cut(old, "-")
		require.NoError(t, os.Rename(filepath.Join(s.dir, old), filepath.Join(s.dir, fmt.Sprintf("%013d-%s", i, rest))))
		sessions = append(sessions, session)
	}
	return sessions
}

func TestSpool_KeepsOrder(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	want := fillSpool(t, s, 5)
	hub := &batchHub{}
	hub.Flush(s)
	require.Equal(t, want, hub.sessions())
	require.Len(t, hub.batches, 1, "one request")
	require.Empty(t, s.list())
	hub.Flush(s)
	require.Len(t, hub.batches, 1, "an empty spool sends no request")
}

func TestSpool_FilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no Unix permissions")
	}
	s := newTestSpool(t)
	fillSpool(t, s, 1)
	info, err := os.Stat(filepath.Join(s.dir, s.list()[0]))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(s.dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestSpool_DropsOldest(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]int{"too many": 1, "too much": maxSpoolBytes / MaxFiles * 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSpool(t)
			require.NoError(t, os.MkdirAll(s.dir, 0o700))
			for i := range MaxFiles {
				name := fmt.Sprintf("%013d-0-%d.json", i, length)
				require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), nil, 0o600))
			}
			_, err := s.Keep(newEvent("new"))
			require.NoError(t, err)
			names := s.list()
			require.LessOrEqual(t, len(names), MaxFiles)
			total := 0
			for _, name := range names {
				total += lengthInName(name)
			}
			require.LessOrEqual(t, total, maxSpoolBytes)
			require.NotContains(t, names, fmt.Sprintf("%013d-0-%d.json", 0, length))
			require.Contains(t, names, fmt.Sprintf("%013d-0-%d.json", MaxFiles-1, length))
		})
	}
}

func TestSpool_SkipsTornFiles(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	want := fillSpool(t, s, 2)
	for name, text := range map[string]string{
		"0000000000000-a-9.json": `{"a":1`, "0000000000000-b-6.json": `{"a":1`, "0000000000000-c-0.json": "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	// Unrelated files, and a file that another hook is writing, must stay.
	for _, name := range []string{"notes.txt", fmt.Sprintf(".%013d-d-9.json", time.Now().UnixMilli()), "x-y-z.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte("{}"), 0o600))
	}
	abandoned := filepath.Join(s.dir, ".0000000000001-e-9.json")
	require.NoError(t, os.WriteFile(abandoned, nil, 0o600))
	hub := &batchHub{}
	hub.Flush(s)
	require.Equal(t, want, hub.sessions())
	left, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Len(t, left, 3)
	require.NoFileExists(t, abandoned)
}

func TestSpool_KeepsUnacceptedEvents(t *testing.T) {
	t.Parallel()
	trouble := errors.New("down")
	for name, test := range map[string]struct {
		fail func([]schema.Event) error
		left int
		sent []string
	}{
		"down": {func([]schema.Event) error { return trouble }, 4, nil},
		"one rejected": {func(b []schema.Event) error {
			for _, e := range b {
				if e.SessionID == "s1" {
					return RejectionError{400}
				}
			}
			return nil
		}, 0, []string{"s0", "s2", "s3"}},
		"all rejected": {func([]schema.Event) error { return RejectionError{413} }, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSpool(t)
			fillSpool(t, s, 4)
			hub := &batchHub{fail: test.fail}
			hub.Flush(s)
			require.Len(t, s.list(), test.left)
			require.Equal(t, test.sent, hub.sessions())
		})
	}
}

func TestSpool_ReadsBatchResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		left   int
	}{
		"one invalid":     {`[{"event":{}},{"problem":{"status":400}},{"event":{}}]`, 0},
		"disk full":       {`[{"event":{}},{"problem":{"status":507}},{"problem":{"status":507}}]`, 2},
		"too few results": {`[{"event":{}}]`, 3},
		"not a list":      {`{"id":1}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSpool(t)
			fillSpool(t, s, 3)
			s.Flush(time.Now().Add(time.Minute), func(net.Buffers) ([]byte, error) { return []byte(test.answer), nil })
			require.Len(t, s.list(), test.left)
			require.NoFileExists(t, s.claimFile())
		})
	}
}

func TestSpool_BoundsRequestSize(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	require.NoError(t, os.MkdirAll(s.dir, 0o700))
	for i := range 5 {
		e := newEvent(fmt.Sprintf("s%d", i))
		e.Payload = json.RawMessage(`{"x":"` + strings.Repeat("y", maxSpoolBatch/3) + `"}`)
		_, err := s.Keep(e)
		require.NoError(t, err)
	}
	hub := &batchHub{}
	hub.Flush(s)
	require.Len(t, hub.sessions(), 5)
	require.Len(t, hub.batches, 3)
}

func TestSpool_DropsLargePayload(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	e := newEvent("big")
	e.Payload = json.RawMessage(`{"x":"` + strings.Repeat("y", maxSpoolEvent) + `"}`)
	_, err := s.Keep(e)
	require.NoError(t, err)
	hub := &batchHub{}
	hub.Flush(s)
	require.Equal(t, []string{"big"}, hub.sessions())
	require.Contains(t, string(hub.batches[0][0].Payload), "left out")
	e.Summary = strings.Repeat("y", maxSpoolEvent)
	_, err = s.Keep(e)
	require.ErrorContains(t, err, "event too large to store")
}

func TestSpool_ClaimIsExclusive(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	fillSpool(t, s, 1)
	require.True(t, s.claim())
	require.False(t, s.claim())
	hub := &batchHub{}
	hub.Flush(s)
	require.Empty(t, hub.batches)
	old := time.Now().Add(-2 * claimTTL)
	require.NoError(t, os.Chtimes(s.claimFile(), old, old))
	hub.Flush(s)
	require.Len(t, hub.batches, 1, "the claim has expired")
}

func TestSpool_ConcurrentHooksLoseNothing(t *testing.T) {
	t.Parallel()
	s := newTestSpool(t)
	hub := &batchHub{}
	var mu sync.Mutex
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for j := range 25 {
				if _, err := s.Keep(newEvent(fmt.Sprintf("s%d-%d", i, j))); err != nil {
					t.Error(err)
				}
				s.Flush(time.Now().Add(time.Minute), func(body net.Buffers) ([]byte, error) {
					mu.Lock()
					defer mu.Unlock()
					return hub.post(body)
				})
			}
		})
	}
	work.Wait()
	hub.Flush(s)
	seen := map[string]bool{}
	for _, session := range hub.sessions() {
		seen[session] = true
	}
	require.Len(t, seen, 200, "no event is lost")
}

func TestSpool_WithoutDirectory(t *testing.T) {
	t.Parallel()
	_, err := Spool{}.Keep(newEvent("s"))
	require.ErrorIs(t, err, errNoSpool)
	Spool{}.Flush(time.Now().Add(time.Minute), nil)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := Spool{filepath.Join(file, "spool")}
	_, err = s.Keep(newEvent("s"))
	require.Error(t, err)
	require.Empty(t, s.list())
	_, err = newTestSpool(t).Keep(schema.Event{Payload: json.RawMessage("{")})
	require.ErrorContains(t, err, "payload is not valid JSON")
}
