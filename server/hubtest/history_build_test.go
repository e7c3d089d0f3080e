package hubtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// The size of a history. Its events arrived within historyDays before it was built.
const (
	historyDays      = 88  // all in an overview of 90 days
	sessionEvents    = 100 // events of a session
	batchSessions    = 25  // sessions of one batch, which has one event of each
	historyPosters   = 4
	questionEvery    = 600     // events for each question, which is answered
	rareWord         = "zyqox" // in rareEvents of the events
	rareEvents       = 3
	historyDatabase  = "hub.db"
	progressInterval = 5 * time.Second
)

// historyBuilder fills the database of a hub with events of many sessions.
type historyBuilder struct {
	url    string
	size   int64
	posted atomic.Int64
	rare   atomic.Int64 // events with the rare word
	failed atomic.Bool
}

// buildHistory makes a database with size events in dir, unless it exists: projections and the
// search index have caught up. It takes minutes, so it reports progress.
func buildHistory(b *testing.B, dir string, size int64) {
	b.Helper()
	if _, err := os.Stat(dir); err == nil {
		return
	}
	building := dir + ".building"
	require.NoError(b, os.RemoveAll(building))
	require.NoError(b, os.MkdirAll(building, 0o700))
	h := &historyBuilder{size: size}
	start := time.Now().Add(-historyDays * 24 * time.Hour)
	began := time.Now()
	clock := func() time.Time { // from the first day to today while events are posted
		if posted := h.posted.Load(); posted < size {
			return start.Add(time.Duration(float64(posted) / float64(size) * float64(historyDays*24*time.Hour)))
		}
		return time.Now()
	}
	hub := hubtest.Start(b, hubtest.DB(filepath.Join(building, historyDatabase)), hubtest.Clock(clock), hubtest.KeepEvents())
	h.url = hub.URL()
	stopProgress := h.reportProgress(began)
	var wg sync.WaitGroup
	for i := range int64(historyPosters) {
		wg.Go(func() {
			if err := h.post(b.Context(), i); err != nil {
				h.failed.Store(true)
				b.Error(err)
			}
		})
	}
	wg.Wait()
	stopProgress()
	require.False(b, b.Failed())
	h.waitForProjections(b)
	(&serverProcess{pid: os.Getpid()}).waitUntilIdle(b)
	hub.Stop()
	require.NoError(b, os.Rename(building, dir))
	fmt.Fprintf(os.Stderr, "history: built %d events in %s\n", size, time.Since(began).Round(time.Second))
}

func (h *historyBuilder) reportProgress(began time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(progressInterval); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				posted := h.posted.Load()
				rate := float64(posted) / time.Since(began).Seconds()
				left := time.Duration(float64(h.size-posted) / max(rate, 1) * float64(time.Second))
				fmt.Fprintf(os.Stderr, "history: %d of %d events, %.0f a second, %s left\n", posted, h.size, rate, left.Round(time.Second))
			}
		}
	}()
	return func() { cancel(); <-done }
}

// post is one of the posters. Each has its own sessions and posts its part of the events.
func (h *historyBuilder) post(ctx context.Context, poster int64) error {
	words := newVocabulary(poster)
	sessions := make([]*agentSession, batchSessions)
	number := poster
	for !h.failed.Load() {
		posted := h.posted.Add(batchSessions)
		if posted > h.size {
			return nil
		}
		batch := make([]json.RawMessage, batchSessions)
		for i, s := range sessions {
			if s == nil || s.events == sessionEvents {
				s = &agentSession{number: number, words: words}
				sessions[i] = s
				number += historyPosters
			}
			batch[i] = s.next()
		}
		if n := h.rare.Load(); n < rareEvents && 10*posted >= h.size*(1+4*n) && h.rare.CompareAndSwap(n, n+1) { // after 10%, 50% and 90%
			batch[0] = fmt.Appendf(nil, `{"source_app":"rare","session_id":"rare","hook_event_type":"Notification","payload":{"message":"the word is %s"}}`, rareWord)
		}
		if err := postBatch(ctx, h.url, batch); err != nil {
			return err
		}
		if words.IntN(questionEvery/batchSessions) == 0 {
			if err := h.decide(ctx, sessions[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func postBatch(ctx context.Context, url string, batch []json.RawMessage) error {
	var results []schema.BatchResult
	if err := call(ctx, http.MethodPost, url+schema.PathBatch, batch, &results); err != nil {
		return err
	}
	for _, r := range results {
		if r.Event == nil {
			return fmt.Errorf("an event was not stored: %+v", r)
		}
	}
	return nil
}

// decide asks a question of the session and answers it. The agent pulls the answer. There is no
// deadline, because the clock runs fast.
func (h *historyBuilder) decide(ctx context.Context, s *agentSession) error {
	question := schema.Event{
		SourceApp: s.app(), SessionID: s.id(), HookEventType: "PermissionRequest", ToolName: "Bash",
		Payload:        fmt.Appendf(nil, `{"tool_name":"Bash","tool_input":{"command":"git push origin %s"}}`, s.words.sentence(1)),
		HumanInTheLoop: &schema.HumanInTheLoop{Question: "May I push " + s.words.sentence(4) + "?", Type: schema.Permission, ProtocolVersion: 2, Timeout: new(0.)},
	}
	asked, err := postJSON(ctx, h.url+schema.PathEvents, question)
	if err != nil {
		return err
	}
	approve := s.words.IntN(10) > 0
	if _, err = postJSON(ctx, h.url+schema.At(schema.PathRespond, asked.ID), schema.Response{Permission: &approve}); err != nil {
		return err
	}
	return call(ctx, http.MethodGet, h.url+schema.At(schema.PathResponse, asked.ID), nil, nil)
}

// waitForProjections waits until the statistics count all events.
func (h *historyBuilder) waitForProjections(b *testing.B) {
	b.Helper()
	for {
		var o history.Overview
		require.NoError(b, call(b.Context(), http.MethodGet, fmt.Sprintf("%s%s?days=%d", h.url, schema.PathOverview, historyDays+2), nil, &o))
		counted := int64(0)
		for _, a := range o.Agents {
			counted += a.Events
		}
		fmt.Fprintf(os.Stderr, "history: the statistics count %d events\n", counted)
		if counted >= h.size-historyPosters*batchSessions {
			return
		}
		<-time.After(progressInterval)
	}
}

// agentSession is one session of a coding agent: a prompt, calls of tools, and an end.
type agentSession struct {
	number int64
	events int
	words  *vocabulary
}

func (s *agentSession) id() string  { return fmt.Sprintf("5e55104e-0000-4000-8000-%012d", s.number) }
func (s *agentSession) app() string { return fmt.Sprintf("project-%d", s.number%20) }

// next returns the session's next event.
func (s *agentSession) next() json.RawMessage {
	n := s.events
	s.events++
	kind, tool := "PostToolUse", "Bash"
	var payload string
	file := fmt.Sprintf("/home/dev/%s/internal/%s.go", s.app(), s.words.sentence(1))
	call := fmt.Sprintf(`"tool_use_id":"toolu_%d_%d","cwd":"/home/dev/%s","tool_name":`, s.number, n/2, s.app())
	switch {
	case n == 0:
		kind, tool = "UserPromptSubmit", ""
		payload = fmt.Sprintf(`{"prompt":"ticket%d: %s","cwd":"/home/dev/%s"}`, s.number, s.words.sentence(12), s.app())
	case n == sessionEvents-1:
		kind, tool, payload = "Stop", "", `{"stop_hook_active":false}`
	case n%2 == 1:
		kind = "PreToolUse"
		payload = fmt.Sprintf(`{%s"Bash","tool_input":{"command":"go test ./internal/%s","description":%q}}`, call, s.words.sentence(1), s.words.sentence(5))
	case n%4 == 0:
		tool = "Edit"
		payload = fmt.Sprintf(`{%s"Edit","tool_input":{"file_path":%q,"old_string":%q,"new_string":%q},"tool_response":{"filePath":%q}}`,
			call, file, s.words.sentence(60), s.words.sentence(70), file)
	default:
		payload = fmt.Sprintf(`{%s"Bash","tool_input":{"command":"go test ./internal/%s"},"tool_response":{"stdout":%q,"stderr":"","interrupted":false}}`,
			call, s.words.sentence(1), s.words.sentence(150+s.words.IntN(100)))
	}
	return fmt.Appendf(nil, `{"source_app":%q,"session_id":%q,"hook_event_type":%q,"tool_name":%q,"model_name":"a-model","payload":%s}`,
		s.app(), s.id(), kind, tool, payload)
}

// vocabulary makes sentences of a few thousand words, as many as programs and their output
// share, so that the search index is as selective as it is with real events.
type vocabulary struct {
	*rand.Rand
	words []string
}

func newVocabulary(seed int64) *vocabulary {
	fixed := rand.New(rand.NewPCG(1, 2)) // the same words for all
	syllables := strings.Fields("ba con der er fi gra hel in jo ka lo mer ne or pa qui re sto ta un ver wa ex yo su tri ble ment tion ly")
	words := make([]string, 4000)
	for i := range words {
		for range 2 + fixed.IntN(3) {
			words[i] += syllables[fixed.IntN(len(syllables))]
		}
	}
	return &vocabulary{rand.New(rand.NewPCG(3, uint64(seed))), words}
}

func (v *vocabulary) sentence(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(v.words[v.IntN(len(v.words))])
	}
	return b.String()
}
