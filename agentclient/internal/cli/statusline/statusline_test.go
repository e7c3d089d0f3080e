package statusline

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// statusInput is an example of Claude Code's status input.
const statusInput = `{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"/src/api/sub","prompt_id":"p1","model":{"id":"claude-opus-5-5","display_name":"Opus 5.5"},` +
	`"workspace":{"current_dir":"/src/api/sub","project_dir":"/src/api/"},"version":"2.1.330","output_style":{"name":"default"},` +
	`"cost":{"total_cost_usd":0.4213,"total_duration_ms":180000,"total_api_duration_ms":2300,"total_lines_added":156,"total_lines_removed":23},` +
	`"context_window":{"context_window_size":200000,"used_percentage":43.4,"current_usage":{"input_tokens":8500}},"rate_limits":{"five_hour":{"used_percentage":9}}}`

// runStatuslineIn runs statusline with a home directory and returns its output and exit status.
// The hub has more time than in production, because the machine may be busy.
func runStatuslineIn(t *testing.T, home, hub, stdin string, args ...string) (string, int) {
	t.Helper()
	return statuslineSession{home, hub, 30 * time.Second}.run(t, stdin, args...)
}

// statuslineSession runs the status line of a session.
type statuslineSession struct {
	home, hub   string
	sendTimeout time.Duration
}

func (s statuslineSession) run(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	var out, err bytes.Buffer
	env := func(name string) string {
		return map[string]string{"HOME": s.home, "HOOKBACK_URL": s.hub}[name]
	}
	l := newStatuslineRun(env, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err})
	l.sendTimeout = s.sendTimeout
	status := l.run(t.Context(), args)
	require.Empty(t, err.String())
	return out.String(), status
}

// startEventSink starts a server that accepts events. next returns the next event; none fails
// if there is another one.
func startEventSink(t *testing.T) (hub string, next func() schema.Event, none func()) {
	t.Helper()
	bodies := make(chan []byte, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	t.Cleanup(server.Close)
	hub = server.URL
	next = func() (e schema.Event) {
		t.Helper()
		select {
		case b := <-bodies:
			require.NoError(t, json.Unmarshal(b, &e))
			require.NoError(t, e.Validate())
		case <-time.After(30 * time.Second):
			t.Fatal("no event was sent")
		}
		return e
	}
	none = func() {
		t.Helper()
		require.Empty(t, bodies, "statusline returns after its last event")
	}
	return hub, next, none
}

func TestStatusline_ReportsChanges(t *testing.T) {
	t.Parallel()
	hub, next, none := startEventSink(t)
	home := t.TempDir()
	line, status := runStatuslineIn(t, home, hub, statusInput)
	require.Equal(t, "Opus 5.5 · api · $0.42 · context 43 %\n", line)
	require.Zero(t, status)
	e := next()
	require.Equal(t, []string{"api", "s1", "StatusLine", "claude-code", "claude-opus-5-5"}, []string{e.SourceApp, e.SessionID, e.HookEventType, e.Agent, e.ModelName})
	require.JSONEq(t, `{"session_id":"s1","cwd":"/src/api/sub","version":"2.1.330","prompt_id":"p1","model":{"id":"claude-opus-5-5","display_name":"Opus 5.5"},
		"workspace":{"current_dir":"/src/api/sub","project_dir":"/src/api/"},"context_window":{"context_window_size":200000,"used_percentage":43.4},
		"cost":{"total_cost_usd":0.4213,"total_duration_ms":180000,"total_api_duration_ms":2300,"total_lines_added":156,"total_lines_removed":23}}`, string(e.Payload))

	dearer := strings.Replace(statusInput, "0.4213", "0.5", 1)
	runStatuslineIn(t, home, hub, dearer)
	none()
	runStatuslineIn(t, home, hub, statusInput, "--every", "0s")
	none() // nothing has changed
	runStatuslineIn(t, home, hub, dearer, "--every", "0s")
	next()
	runStatuslineIn(t, home, hub, strings.Replace(statusInput, `"s1"`, `"s2"`, 1), "--app", "mine")
	require.Equal(t, "mine", next().SourceApp, "each session has a separate interval")
}

func TestStatusline_RunsWrappedCommand(t *testing.T) {
	t.Parallel()
	hub, next, _ := startEventSink(t)
	home := t.TempDir()
	out, status := runStatuslineIn(t, home, hub, statusInput, "--", "cat")
	require.Equal(t, statusInput, out, "the same stdin, the same output")
	require.Zero(t, status)
	next()
	long := `{"session_id":"long","pad":"` + strings.Repeat("x", maxStatusInput) + `"}`
	out, _ = runStatuslineIn(t, home, hub, long, "--", "cat")
	require.Equal(t, long, out, "also if the input is too long to parse")
	out, status = runStatuslineIn(t, home, hub, statusInput, "--", "sh", "-c", "printf 'a\\033[1mb'; exit 3")
	require.Equal(t, "a\x1b[1mb", out)
	require.Equal(t, 3, status)
	out, status = runStatuslineIn(t, home, hub, statusInput, "--", filepath.Join(home, "gone"))
	require.Equal(t, "Opus 5.5 · api · $0.42 · context 43 %\n", out, "a missing command falls back to the own line")
	require.Zero(t, status)
}

// Invalid input and unreachable hubs never cause an error.
func TestStatusline_NeverFails(t *testing.T) {
	t.Parallel()
	hub, _, none := startEventSink(t)
	home := t.TempDir()
	for name, c := range map[string]struct{ stdin, line string }{
		"empty":       {``, ""},
		"not JSON":    {`<html>`, ""},
		"other types": {`{"session_id":7,"model":[],"cost":{"total_cost_usd":"x"},"cwd":"/a/b"}`, "b"},
		"hostile":     {"{\"model\":{\"display_name\":\"\u202eO\u001b[31m\\n" + strings.Repeat("é", 100) + "\"},\"cost\":{\"total_cost_usd\":-1}}", ""},
	} {
		line, status := runStatuslineIn(t, home, hub, c.stdin)
		require.Zero(t, status, name)
		require.Equal(t, 1, strings.Count(line, "\n"), name)
		require.NotContains(t, line, "\x1b", name)
		require.Less(t, len(line), 300, name)
		if name != "hostile" {
			require.Equal(t, c.line+"\n", line, name)
		}
	}
	none()

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() // accepts connections and never responds, so the return proves the timeout
	unanswered := statuslineSession{home, "http://" + silent.Addr().String(), report.SendTimeout}
	line, status := unanswered.run(t, statusInput)
	require.Equal(t, "Opus 5.5 · api · $0.42 · context 43 %\n", line)
	require.Zero(t, status)
	unanswered.run(t, strings.Replace(statusInput, "0.4213", "1", 1))
	files, err := os.ReadDir(filepath.Join(home, ".local", "state", "hookback", "statusline"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, status = runStatuslineIn(t, home, "ftp://nowhere", statusInput, "--every", "0s")
	require.Zero(t, status)
	_, status = runStatuslineIn(t, filepath.Join(home, "not", "there"), hub, statusInput)
	require.Zero(t, status)
}

// A report is retried until a hub accepts or rejects it.
func TestStatusline_RetriesUnacceptedReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []int
		posts   int
	}{
		"accepted": {[]int{200}, 1},
		"failing":  {[]int{503, 500, 200}, 3},
		"rejected": {[]int{503, 400}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.answers[min(int(posts.Add(1)), len(c.answers))-1])
				_, _ = io.WriteString(w, `{"id":1}`)
			}))
			t.Cleanup(server.Close)
			home := t.TempDir()
			for range c.posts + 2 {
				runStatuslineIn(t, home, server.URL, statusInput, "--every", "0s")
			}
			require.EqualValues(t, c.posts, posts.Load())
			runStatuslineIn(t, home, server.URL, strings.Replace(statusInput, "0.4213", "0.5", 1))
			require.EqualValues(t, c.posts, posts.Load(), "before the interval has passed")
		})
	}
}

func TestStatusline_RemovesStaleState(t *testing.T) {
	t.Parallel()
	hub, next, _ := startEventSink(t)
	home := t.TempDir()
	runStatuslineIn(t, home, hub, statusInput)
	next()
	dir := filepath.Join(home, ".local", "state", "hookback", "statusline")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	old := filepath.Join(dir, files[0].Name())
	last := time.Now().Add(-8 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(old, last, last))
	runStatuslineIn(t, home, hub, strings.Replace(statusInput, `"s1"`, `"s2"`, 1))
	next()
	require.NoFileExists(t, old)
}

func TestStatusline_ReportsCostToRealHub(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t).URL()
	client := agentclient.New(agentclient.Options{Hubs: []string{hub}, SourceApp: "api", SessionID: "s1"})
	defer client.Close()
	_, err := client.Send(t.Context(), schema.Event{HookEventType: "UserPromptSubmit", Payload: []byte(`{"prompt":"go"}`)})
	require.NoError(t, err)
	line := statuslineSession{t.TempDir(), hub, report.SendTimeout}
	var detail history.SessionDetail
	require.Eventually(t, func() bool {
		line.run(t, statusInput, "--every", "0s") // a busy hub may miss a report
		answer, err := http.Get(hub + schema.PathSession + "?source_app=api&session_id=s1")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return json.NewDecoder(answer.Body).Decode(&detail) == nil && detail.Session.CostUSD > 0
	}, 30*time.Second, 10*time.Millisecond)
	require.InDelta(t, 0.4213, detail.Session.CostUSD, 1e-9)
	require.InDelta(t, 43.4, detail.Session.ContextPercent, 1e-9)
	require.Equal(t, "claude-opus-5-5", detail.Session.Model)
}
