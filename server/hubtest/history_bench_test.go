package hubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
)

// BenchmarkHistory needs a folder for its databases and their size in events. Each size is built
// once and kept; the hub runs on a copy.
const (
	historyVariable     = "HOOKBACK_BENCH_HISTORY"
	historySizeVariable = "HOOKBACK_BENCH_EVENTS"
)

// BenchmarkHistory measures the queries that could grow with the history, in ms, and what 1,000
// pages cost that open after a restart. Run it with make bench-history.
func BenchmarkHistory(b *testing.B) {
	folder := os.Getenv(historyVariable)
	if folder == "" {
		b.Skip(historyVariable + " names no folder: make bench-history")
	}
	size, err := strconv.ParseInt(os.Getenv(historySizeVariable), 10, 64)
	require.NoError(b, err)
	kept := filepath.Join(folder, strconv.FormatInt(size, 10))
	buildHistory(b, kept, size)

	copied := filepath.Join(folder, "copy")
	require.NoError(b, os.RemoveAll(copied))
	defer func() { _ = os.RemoveAll(copied) }()
	fmt.Fprintln(os.Stderr, "history: copying")
	require.NoError(b, copyDatabase(copied, kept))
	s := startServerOn(b, "hub", filepath.Join(copied, historyDatabase))
	defer s.stop()
	s.waitUntilIdle(b)

	r := &historyRun{url: "http://" + s.addr, server: s, words: newVocabulary(historyPosters)}
	for _, row := range []struct {
		name string
		run  func(b *testing.B)
	}{
		{"stats/first", r.statsFirst}, {"stats/later", r.statsLater}, {"sessions-by-text", r.sessions}, {"overview", r.overview},
		{"search/complete", r.search}, {"pages", r.pages}, {"lists", r.lists}, {"search/behind", r.searchBehind},
	} {
		b.Run(row.name, func(b *testing.B) {
			for range b.N { // once, with -benchtime 1x
				row.run(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// copyDatabase copies the files of a folder. Only the user may read them, or no hub opens them.
func copyDatabase(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		in, err := os.Open(filepath.Join(from, f.Name()))
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		out, err := os.OpenFile(filepath.Join(to, f.Name()), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}

// historyRun has the state of the rows.
type historyRun struct {
	url    string
	server *serverProcess
	words  *vocabulary
	posted int
}

// call sends a request with a JSON body, if there is one, and decodes the response into the
// value, if there is one.
func call(ctx context.Context, method, url string, body, into any) error {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, b)
	}
	if into == nil {
		return nil
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = b
		return nil
	}
	return json.Unmarshal(b, into)
}

// median requests path(i) several times and reports the median time. An event and an answer come
// before each request, so that no cache of the last one is of use.
func (r *historyRun) median(b *testing.B, path func(i int) string) {
	b.Helper()
	var took []time.Duration
	for i := range 9 {
		r.change(b)
		began := time.Now()
		require.NoError(b, call(b.Context(), http.MethodGet, r.url+path(i), nil, nil))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(quantile(took, .5), "ms")
}

// change posts an event and answers a question.
func (r *historyRun) change(b *testing.B) {
	b.Helper()
	r.posted++
	s := &agentSession{number: int64(r.posted), words: r.words}
	require.NoError(b, postBatch(b.Context(), r.url, []json.RawMessage{s.next()}))
	builder := &historyBuilder{url: r.url}
	require.NoError(b, builder.decide(b.Context(), s))
}

func (r *historyRun) statsFirst(b *testing.B) {
	began := time.Now()
	require.NoError(b, call(b.Context(), http.MethodGet, r.url+inbox.PathHitlStats, nil, nil))
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms")
}

func (r *historyRun) statsLater(b *testing.B) {
	r.median(b, func(int) string { return inbox.PathHitlStats })
}

// sessions searches for texts of one session, which the whole table has to be searched for.
func (r *historyRun) sessions(b *testing.B) {
	r.median(b, func(i int) string { return fmt.Sprintf("%s?q=ticket%d:", schema.PathSessions, 1+7*i) })
}

func (r *historyRun) overview(b *testing.B) {
	r.median(b, func(int) string { return schema.PathOverview + "?days=90" })
}

// searchAll searches the whole history for the rare word and returns the number of matches.
func (r *historyRun) searchAll(b *testing.B) (found int) {
	b.Helper()
	before := ""
	for {
		var page history.SearchResult
		path := schema.PathSearch + "?limit=1000&filter=" + url.QueryEscape(rareWord) + before
		require.NoError(b, call(b.Context(), http.MethodGet, r.url+path, nil, &page))
		found += len(page.Events)
		if page.Complete {
			return found
		}
		before = fmt.Sprintf("&before=%d", page.SearchedTo)
	}
}

func (r *historyRun) search(b *testing.B) {
	var took []time.Duration
	for range 5 {
		began := time.Now()
		require.Equal(b, rareEvents, r.searchAll(b))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(quantile(took, .5), "ms")
}

// searchBehind searches immediately after 150,000 events arrived as fast as the hub takes them.
func (r *historyRun) searchBehind(b *testing.B) {
	var wg sync.WaitGroup
	for poster := range int64(historyPosters) {
		wg.Go(func() {
			words := newVocabulary(100 + poster)
			for i := range int64(150_000 / sessionEvents / historyPosters) {
				s := &agentSession{number: 1_000_000 + poster*10_000 + i, words: words}
				batch := make([]json.RawMessage, sessionEvents)
				for j := range batch {
					batch[j] = s.next()
				}
				if err := postBatch(b.Context(), r.url, batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	began := time.Now()
	require.Equal(b, rareEvents, r.searchAll(b))
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms")
}

// snapshot makes the requests of a page that opens and returns the bytes of the responses.
func (r *historyRun) snapshot(ctx context.Context) (bytes int, err error) {
	for _, path := range []string{
		schema.PathRecent + "?limit=300&summary=1", schema.PathEvents + "?status=pending&limit=1000&summary=1",
		schema.PathEvents + "?status=undelivered&limit=1000&summary=1",
	} {
		var body []byte
		if err := call(ctx, http.MethodGet, r.url+path, nil, &body); err != nil {
			return bytes, err
		}
		bytes += len(body)
	}
	return bytes, nil
}

// pages opens the streams of 1,000 pages and makes their first requests, 32 at the same time.
func (r *historyRun) pages(b *testing.B) {
	const pages = 1000
	for range 20 {
		r.ask(b, strings.Repeat("x", 500))
	}
	use := startUsage(b, r.server)
	next := make(chan struct{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range next {
				watchStream(b, r.server.addr, "?v=2", func([]byte) {})
				if _, err := r.snapshot(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for range pages {
		next <- struct{}{}
	}
	close(next)
	wg.Wait()
	b.ReportMetric((r.server.cpu(b) - use.cpu).Seconds(), "cpu-s")
}

// lists reports how much longer the first requests of a page are with one question about a call of
// 0.9 MB.
func (r *historyRun) lists(b *testing.B) {
	without, err := r.snapshot(b.Context())
	require.NoError(b, err)
	r.ask(b, strings.Repeat("0123456789abcde ", 900_000/16))
	with, err := r.snapshot(b.Context())
	require.NoError(b, err)
	b.ReportMetric(float64(with-without)/1024, "KiB")
}

// ask asks a question about a call with the text. It stays open.
func (r *historyRun) ask(b *testing.B, text string) {
	b.Helper()
	arguments, err := json.Marshal(map[string]string{"file_path": "notes.md", "content": text})
	require.NoError(b, err)
	r.posted++
	_, err = postJSON(b.Context(), r.url+schema.PathEvents, schema.Event{
		SourceApp: "big", SessionID: strconv.Itoa(r.posted), HookEventType: "PermissionRequest", ToolName: "Write", Payload: json.RawMessage(`{}`),
		HumanInTheLoop: &schema.HumanInTheLoop{
			Question: "May I write this?", Type: schema.Permission, ProtocolVersion: 2, Timeout: new(0.),
			ToolCall: &schema.ToolCall{Name: "Write", Arguments: arguments},
		},
	})
	require.NoError(b, err)
}
