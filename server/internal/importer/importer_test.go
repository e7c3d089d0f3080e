package importer_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
	"github.com/hookback/hookback/server/internal/importer"
)

const sessionID = "1b9c4f0e-6d2a-4b7e-9a53-0c8f2f6f5d11"

// machine is a home directory with transcripts, and the hub that they are imported to.
type machine struct {
	t    *testing.T
	hub  *hubtest.Hub
	auth http.Header
	env  map[string]string
	dir  string // the folder of a project whose name has a space
	now  time.Time
}

func newMachine(t *testing.T, o ...hubtest.Option) *machine {
	t.Helper()
	config := filepath.Join(t.TempDir(), "my config")
	m := &machine{t: t, hub: hubtest.Start(t, o...), dir: filepath.Join(config, "projects", "-src-my shop"), now: time.Now()}
	m.env = map[string]string{"CLAUDE_CONFIG_DIR": config, "HOOKBACK_URL": m.hub.URL(), "XDG_CACHE_HOME": t.TempDir()}
	require.NoError(t, os.MkdirAll(m.dir, 0o700))
	return m
}

// run runs the command and returns its output and exit status.
func (m *machine) run(args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	return m.runWith("", args...)
}

func (m *machine) runWith(stdin string, args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	var out, errOut bytes.Buffer
	args = append(args, "--known-hubs", filepath.Join(m.t.TempDir(), "known_hubs"))
	status = importer.Run(m.t.Context(), args, func(name string) string { return m.env[name] }, importer.Streams{
		In: strings.NewReader(stdin), Out: &out, Err: &errOut,
	})
	return out.String(), errOut.String(), status
}

// write writes a transcript that changed at a time before now. Its lines name the session of the file.
func (m *machine) write(name string, ago time.Duration, lines ...string) {
	m.t.Helper()
	file, text := filepath.Join(m.dir, name), strings.Join(lines, "\n")+"\n"
	if id, _, _ := strings.Cut(strings.TrimSuffix(name, ".jsonl"), "/"); !strings.HasPrefix(id, "agent-") {
		text = strings.ReplaceAll(text, sessionID, id)
	}
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o600))
	require.NoError(m.t, os.Chtimes(file, m.now.Add(-ago), m.now.Add(-ago)))
}

// line returns a line of a transcript. It adds the members that Claude Code writes in each.
func (m *machine) line(kind string, ago time.Duration, members string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/src/my shop","sessionId":%q,"version":"2.1.330","gitBranch":"main","type":%q,"uuid":%q,"timestamp":%q%s}`,
		sessionID, kind, rand.Text(), m.now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z"), members)
}

func (m *machine) user(ago time.Duration, content string) string {
	return m.line("user", ago, `,"message":{"role":"user","content":`+content+`}`)
}

// assistant returns a line of a message. reply is its id and its model; used its input and output tokens.
func (m *machine) assistant(ago time.Duration, reply, content string, used ...int) string {
	id, model, _ := strings.Cut(reply, " ")
	return m.line("assistant", ago, fmt.Sprintf(`,"requestId":"req_%s","message":{"id":%q,"type":"message","role":"assistant","model":%q,"content":%s,"usage":{"input_tokens":%d,"output_tokens":%d,"cache_read_input_tokens":1000,"cache_creation_input_tokens":10}}`,
		id, id, model, content, used[0], used[1]))
}

func (m *machine) get(path string, into any) {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.hub.URL()+path, http.NoBody)
	require.NoError(m.t, err)
	if m.auth != nil {
		req.Header = m.auth
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(m.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(m.t, err)
	require.Equal(m.t, http.StatusOK, res.StatusCode, string(body))
	require.NoError(m.t, json.Unmarshal(body, into), string(body))
}

func (m *machine) post(path, body string) (status int, answer string) {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.hub.URL()+path, strings.NewReader(body))
	require.NoError(m.t, err)
	for name, values := range m.auth {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(m.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(m.t, err)
	return res.StatusCode, string(text)
}

func (m *machine) sessions() []history.Session {
	m.t.Helper()
	var page history.SessionPage
	m.get(schema.PathSessions, &page)
	return page.Sessions
}

// state returns the sessions, the cost and the events of the hub.
func (m *machine) state() string {
	m.t.Helper()
	var all []any
	for _, path := range []string{schema.PathSessions, history.PathSpend + "?by=day,app,model,person&days=90", "/events/recent"} {
		var v any
		m.get(path, &v)
		if report, ok := v.(map[string]any); ok {
			delete(report, "to")
			delete(report, "lagMs")
		}
		all = append(all, v)
	}
	text, err := json.Marshal(all)
	require.NoError(m.t, err)
	return string(text)
}

const (
	opus  = "claude-opus-4-1"
	haiku = "claude-haiku-4-5"
	day   = 24 * time.Hour
)

// writeShop writes a session of two days with a compaction, subagents, and lines that can't be read.
func (m *machine) writeShop() {
	edit := `[{"type":"tool_use","id":"toolu_1","name":"Edit","input":{"file_path":"/src/my shop/list.go","old_string":"a\nb","new_string":"a\nc\nd"}}]`
	m.write(sessionID+".jsonl", 4*day,
		`{"type":"file-history-snapshot","messageId":"x","snapshot":{}}`,
		m.line("user", 6*day, `,"isMeta":true,"message":{"role":"user","content":"Caveat: not a prompt"}`),
		m.user(6*day, `"<command-name>/clear</command-name>"`),
		m.user(6*day, `"Add paging to the \u003corder\u003e list"`),
		m.assistant(6*day-time.Minute, "msg_1 "+opus, `[{"type":"text","text":"I add paging. The secret is sk-ant-REDACTME"}]`, 100, 1), // a part of the message
		m.assistant(6*day-time.Minute, "msg_1 "+opus, edit, 100, 20),                                                                    // the same message, complete
		m.user(6*day-2*time.Minute, `[{"type":"tool_result","tool_use_id":"toolu_1","content":"The file was updated."}]`),
		m.user(6*day-2*time.Minute, `[{"type":"tool_result","tool_use_id":"toolu_1","content":"The file was updated."}]`), // a repeat
		m.assistant(6*day-3*time.Minute, "msg_2 "+opus, `[{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"go test ./..."}},{"type":"tool_use","id":"toolu_3","name":"Write","input":{"file_path":"/src/my shop/no.go","content":"x"}}]`, 50, 10),
		m.user(6*day-4*time.Minute, `[{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[{"type":"text","text":"exit status 1"}]}]`),
		m.user(6*day-4*time.Minute, `[{"type":"tool_result","tool_use_id":"toolu_3","is_error":true,"content":"The user doesn't want to proceed with this tool use."}]`),
		`{"type":"assistant","message":{"id":"msg_cut","usage":{"input_tokens":99999`,
		`not JSON`, `[1]`, ``,
		m.line("assistant", 6*day, `,"forkedFrom":{"sessionId":"other","messageUuid":"u"},"message":{"id":"msg_0","model":"`+opus+`","content":[],"usage":{"input_tokens":7777,"output_tokens":7777}}`),
		m.line("system", 5*day, `,"subtype":"compact_boundary","content":"Conversation compacted"`),
		m.line("user", 5*day, `,"isCompactSummary":true,"message":{"role":"user","content":"This session is being continued"}`),
		m.assistant(4*day, "msg_3 "+haiku, `[{"type":"text","text":"Paging works now, zebra."}]`, 30, 5),
		m.line("assistant", 4*day, `,"isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error"}],"usage":{"input_tokens":0,"output_tokens":0}}`),
	)
	side := strings.Replace(m.assistant(5*day, "msg_s1 "+haiku, `[{"type":"tool_use","id":"toolu_s","name":"Read","input":{"file_path":"x"}}]`, 7, 3), `"isSidechain":false`, `"isSidechain":true,"agentId":"a1"`, 1)
	m.write(filepath.Join(sessionID, "subagents", "agent-a1.jsonl"), 5*day, side, m.user(5*day, `[{"type":"tool_result","tool_use_id":"toolu_s","content":"ok"}]`))
	m.write("agent-b2.jsonl", 5*day, strings.Replace(m.assistant(5*day, "msg_s2 "+haiku, `[]`, 4, 2), `"isSidechain":false`, `"isSidechain":true,"agentId":"b2"`, 1))
	m.write("agent-orphan.jsonl", day, `{"sessionId":"gone","type":"assistant","message":{"id":"o","usage":{"input_tokens":5}}}`)
}

func TestImport_TotalsEqualTranscript(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.writeShop()
	out, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	require.Equal(t, "Imported 1 session of Claude Code: 3 tool calls, 5,281 tokens.\n3 lines of transcripts could not be read and are not counted.\n", out)
	require.Empty(t, errOut)

	all := m.sessions()
	require.Len(t, all, 1)
	s := all[0]
	require.Equal(t, history.Session{
		SourceApp: "my shop", SessionID: sessionID, Title: "Add paging to the <order> list", Cwd: "/src/my shop", Branch: "main", Model: haiku,
		Person: s.Person, PersonSource: history.PersonOfSystem,
		StartedAt: schema.Millis(m.now.Add(-6 * day).UnixMilli()), LastAt: schema.Millis(m.now.Add(-4 * day).UnixMilli()),
		Ended: true, FirstID: 1, LastID: 1, RunStatus: "ended", Events: 1, Tools: 3, Failures: 1, Agents: 2,
		Tokens: &history.Tokens{Input: 191, Output: 40, CacheRead: 5000, CacheWrite: 50}, Transcript: 1, Imported: s.Imported,
	}, s)
	require.Len(t, s.Imported, 32)
	require.NotEmpty(t, s.Person)

	var detail history.SessionDetail
	query := "?" + url.Values{"source_app": {s.SourceApp}, "session_id": {s.SessionID}}.Encode()
	m.get("/api/session"+query, &detail)
	require.Equal(t, []history.ToolStat{{Tool: "Bash", Calls: 1, Failures: 1}, {Tool: "Edit", Calls: 1}, {Tool: "Read", Calls: 1}}, detail.Tools)
	require.Len(t, detail.Models, 2)
	var files history.SessionFiles
	m.get(history.PathSessionFiles+query, &files)
	require.Equal(t, []history.ChangedFile{{
		Path: "/src/my shop/list.go", Change: "edited", Added: 2, Removed: 1, Calls: 1, Events: []schema.EventID{},
		LastAt: schema.Millis(m.now.Add(-6*day + 2*time.Minute).UnixMilli()),
	}}, files.Files, "refused calls change nothing")

	for by, rows := range map[string]int{"day": 3, "app": 1, "model": 2, "person": 1, "day,model": 3} {
		var report history.SpendReport
		m.get(history.PathSpend+"?days=30&by="+by, &report)
		require.Equal(t, *s.Tokens, report.Tokens, by)
		require.Zero(t, report.CostUSD, "the transcript states no cost, and none is estimated")
		require.Len(t, report.Rows, rows, by)
	}
	var event schema.Event
	m.get("/events/1", &event)
	require.Equal(t, history.EventSessionImported, event.HookEventType)
	var chat []struct {
		Type    string
		Message struct{ Content any }
	}
	require.NoError(t, json.Unmarshal(event.Chat, &chat))
	require.Len(t, chat, 15)
	require.Contains(t, string(event.Chat), "zebra")
}

func TestImport_TwiceChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.writeShop()
	_, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	before := m.state()
	out, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	require.Equal(t, "Imported 0 sessions of Claude Code.\nSkipped: 1 imported before.\n3 lines of transcripts could not be read and are not counted.\n", out)
	require.Equal(t, before, m.state())

	// The session went on without hooks: the new import replaces the old one.
	file := filepath.Join(m.dir, sessionID+".jsonl")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m.write(sessionID+".jsonl", day, strings.TrimSpace(string(text)), m.assistant(day, "msg_9 "+opus, `[{"type":"text","text":"More."}]`, 1000, 100))
	_, errOut, status = m.run()
	require.Equal(t, 0, status, errOut)
	all := m.sessions()
	require.Len(t, all, 1)
	require.Equal(t, history.Tokens{Input: 1191, Output: 140, CacheRead: 6000, CacheWrite: 60}, *all[0].Tokens)
	require.EqualValues(t, 3, all[0].Tools)
	require.EqualValues(t, 2, all[0].Transcript)
	var report history.SpendReport
	m.get(history.PathSpend+"?days=30&by=day", &report)
	require.Equal(t, *all[0].Tokens, report.Tokens)
	require.Len(t, report.Rows, 4)
}

func TestImport_SkipsSessionsOfHooks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.writeShop()
	status, answer := m.post("/events", fmt.Sprintf(`{"source_app":"other","session_id":%q,"hook_event_type":"Stop","payload":{}}`, sessionID))
	require.Equal(t, 200, status, answer)
	require.Len(t, m.sessions(), 1)
	before := m.state()
	out, errOut, exit := m.run()
	require.Equal(t, 0, exit, errOut)
	require.Equal(t, "Imported 0 sessions of Claude Code.\nSkipped: 1 known from hooks.\n", out)
	require.Equal(t, before, m.state())

	status, answer = m.post("/events", fmt.Sprintf(`{"source_app":"my shop","session_id":%q,"hook_event_type":"SessionImported","payload":{"usage":[{"at":1,"tokens":{"input":5,"output":5}}]}}`, sessionID))
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, answer, "session_known")
	status, answer = m.post("/events", `{"source_app":"a","session_id":"new","hook_event_type":"SessionImported","payload":{},"humanInTheLoop":{"question":"?","type":"permission"}}`)
	require.Equal(t, http.StatusBadRequest, status, answer)
	require.Equal(t, before, m.state())
}

// A session that continues with hooks keeps the usage of its transcript.
func TestImport_SessionGoesOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.writeShop()
	_, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	for _, event := range []string{
		`"hook_event_type":"UserPromptSubmit","payload":{"prompt":"Go on"}`,
		`"hook_event_type":"ApiRequest","payload":{"model":"claude-opus-4-1","usage":{"input_tokens":1000,"output_tokens":100},"cost_usd":0.5}`,
	} {
		code, answer := m.post("/events", fmt.Sprintf(`{"source_app":"my shop","session_id":%q,%s}`, sessionID, event))
		require.Equal(t, 200, code, answer)
	}
	s := m.sessions()[0]
	require.Equal(t, history.Tokens{Input: 1191, Output: 140, CacheRead: 5000, CacheWrite: 50}, *s.Tokens)
	require.InDelta(t, 0.5, s.CostUSD, 1e-9)
	require.Empty(t, s.Imported)
	require.False(t, s.Ended)
	var report history.SpendReport
	m.get(history.PathSpend+"?days=30&by=day", &report)
	require.Equal(t, *s.Tokens, report.Tokens)
	out, _, _ := m.run()
	require.Contains(t, out, "1 known from hooks")
}

// Costs are the amounts in the transcript.
func TestImport_StatedCost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	with := func(line, member string) string { return strings.TrimSuffix(line, "}") + member + "}" }
	m.write("a.jsonl", day, with(m.assistant(2*day, "1 "+opus, `[]`, 1, 1), `,"costUSD":0.25`), with(m.assistant(day, "2 "+opus, `[]`, 1, 1), `,"costUSD":0.5`))
	m.write("b.jsonl", day, m.assistant(2*day, "3 "+opus, `[]`, 1, 1), m.line("result", day, `,"totalCostUSD":1.5`))
	out, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	require.Contains(t, out, "$2.25.")
	var report history.SpendReport
	m.get(history.PathSpend+"?days=30&by=day", &report)
	require.InDelta(t, 2.25, report.CostUSD, 1e-9)
	costs := []float64{}
	for _, row := range report.Rows {
		costs = append(costs, row.CostUSD)
	}
	require.Equal(t, []float64{0.25, 2}, costs)
}

// A session may be in several files, and a file may have copies from other sessions: each request counts once.
func TestImport_CountsEachRequestOnce(t *testing.T) {
	t.Parallel()
	first := func(m *machine) string {
		return m.assistant(2*day, "m1 "+opus, `[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]`, 10, 1)
	}
	result := func(m *machine) string {
		return m.user(2*day, `[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]`)
	}
	for name, c := range map[string]struct {
		write    func(m *machine)
		sessions map[string]int64 // to their tokens, without the 1,010 of the cache per request
		tools    int64
	}{
		"subagents of a workflow": {func(m *machine) {
			m.write("a.jsonl", day, first(m))
			m.write("a/subagents/agent-1.jsonl", day, m.assistant(day, "m2 "+haiku, `[]`, 100, 1))
			m.write("a/subagents/workflows/wf_1/agent-2.jsonl", day, m.assistant(day, "m3 "+haiku, `[]`, 1000, 1))
		}, map[string]int64{"a": 1113}, 0},
		"copied session": {func(m *machine) {
			lines := []string{first(m), result(m)}
			m.write("a.jsonl", 2*day, lines...)
			m.write("b.jsonl", day, append(lines, m.assistant(day, "m2 "+opus, `[]`, 100, 1))...)
		}, map[string]int64{"a": 11, "b": 101}, 1},
		"copied session that names its original": {func(m *machine) {
			line := first(m)
			m.write("b.jsonl", 2*day, line, m.assistant(day, "m2 "+opus, `[]`, 100, 1), m.assistant(day, "m3 "+opus, `[]`, 1000, 1))
			m.write("a.jsonl", day, strings.Replace(line, `"requestId"`, `"requestSessionId":"b","requestId"`, 1))
		}, map[string]int64{"a": 0, "b": 1113}, 0},
		"lines of another session": {func(m *machine) {
			m.write("a.jsonl", day, first(m), strings.Replace(m.assistant(day, "m2 "+opus, `[]`, 100, 1), sessionID, "b", 1))
			m.write("b.jsonl", 2*day, m.assistant(2*day, "m3 "+opus, `[]`, 1000, 1))
		}, map[string]int64{"a": 11, "b": 1102}, 0},
		"lines of a session whose file is old": {func(m *machine) {
			m.write("a.jsonl", day, first(m), strings.Replace(m.assistant(day, "m2 "+opus, `[]`, 100, 1), sessionID, "b", 1))
			m.write("b.jsonl", 40*day, m.assistant(40*day, "m3 "+opus, `[]`, 1000, 1))
			m.write("b/subagents/agent-1.jsonl", 40*day, m.assistant(40*day, "m4 "+haiku, `[]`, 10_000, 1))
		}, map[string]int64{"a": 11, "b": 11103}, 0},
		"lines of a session without a file": {func(m *machine) {
			m.write("a.jsonl", day, first(m), strings.Replace(m.assistant(day, "m2 "+opus, `[]`, 100, 1), sessionID, "b", 1))
		}, map[string]int64{"a": 11, "b": 101}, 0},
		"session in two folders": {func(m *machine) {
			lines := []string{first(m), result(m)}
			m.write("a.jsonl", day, append(lines, m.assistant(day, "m2 "+opus, `[]`, 100, 1))...)
			m.write("../other/a.jsonl", 2*day, strings.ReplaceAll(strings.Join(lines, "\n"), sessionID, "a"))
		}, map[string]int64{"a": 112}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			c.write(m)
			_, errOut, status := m.run()
			require.Equal(t, 0, status, errOut)
			got, tools := map[string]int64{}, int64(0)
			for _, s := range m.sessions() {
				got[s.SessionID] = 0
				if s.Tokens != nil {
					got[s.SessionID] = s.Tokens.Input + s.Tokens.Output
				}
				tools += s.Tools
			}
			require.Equal(t, c.sessions, got)
			require.Equal(t, c.tools, tools)
			before := m.state()
			out, _, _ := m.run()
			require.Contains(t, out, "Imported 0 sessions")
			require.Equal(t, before, m.state(), "importing again changes nothing")
		})
	}
}

// The totals by model are those that Claude Code states when it exits, to the cent.
func TestImport_TotalsByModelAreStated(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	total := func(start time.Duration, models string) string {
		return fmt.Sprintf(`{"type":"cost-state","sessionId":%q,"totalCostUSD":99,"startTime":%d,"modelUsage":{%s}}`, sessionID, m.now.Add(-start).UnixMilli(), models)
	}
	model := func(name string, input int, cost float64) string {
		return fmt.Sprintf(`%q:{"inputTokens":%d,"outputTokens":1,"cacheReadInputTokens":1000,"cacheCreationInputTokens":10,"webSearchRequests":0,"costUSD":%g}`, name, input, cost)
	}
	first, second := m.assistant(3*day, "m1 "+opus, `[]`, 10, 1), m.assistant(2*day, "m2 "+opus, `[]`, 100, 1)
	exit := total(3*day+time.Hour, model(opus+"[1m]", 10, 0.5)+","+model(haiku, 7, 0.25))
	m.write("a.jsonl", 3*day, first, exit)
	m.write("b.jsonl", day, first, second, total(3*day+time.Hour, model(opus, 110, 2.5)+","+model(haiku, 7, 0.25)), m.assistant(day, "m3 "+opus, `[]`, 1000, 1))
	out, errOut, status := m.run()
	require.Equal(t, 0, status, errOut)
	require.Contains(t, out, "$2.75.")
	var report history.SpendReport
	m.get(history.PathSpend+"?days=30&by=model", &report)
	rows := map[string]string{}
	for _, r := range report.Rows {
		rows[*r.Model] = fmt.Sprintf("%d %.2f", r.Tokens.Input, r.CostUSD)
	}
	require.Equal(t, map[string]string{opus: "1110 2.50", haiku: "7 0.25"}, rows)
}

func TestImport_ReadsWhatItCan(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	require.NoError(t, os.WriteFile(outside, []byte(m.assistant(day, "1 "+opus, `[]`, 5, 5)), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(m.dir, "link.jsonl")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(filepath.Dir(m.dir), "linked")))
	require.NoError(t, os.Mkdir(filepath.Join(m.dir, "folder.jsonl"), 0o700))
	m.write("empty.jsonl", day, "")
	m.write("old.jsonl", 40*day, m.assistant(40*day, "2 "+opus, `[]`, 5, 5))
	m.write("touched.jsonl", 0, m.assistant(40*day, "3 "+opus, `[]`, 5, 5))
	image := strings.Repeat("A", 700<<10)
	var long []string
	for i := range 40 {
		long = append(long, m.user(day, fmt.Sprintf(`"line %d <%s>"`, i, strings.Repeat("<&>x", 20_000))))
	}
	long = append(long, m.user(day, `[{"type":"image","source":{"type":"base64","data":"`+image+`"}}]`), m.assistant(day, "1 "+opus, `[{"type":"text","text":"the end"}]`, 5, 5),
		`{"type":"user","message":"`+strings.Repeat("y", 33<<20)+`"}`, strings.Repeat("[", 20_000))
	m.write("long.jsonl", day, long...)
	out, errOut, status := m.run()
	require.Equal(t, 1, status)
	require.Contains(t, out, "Imported 1 session of Claude Code: 0 tool calls, 1,020 tokens.\n")
	require.Contains(t, out, "Skipped: 2 older than --since 30d, 1 empty, 3 not readable.\n2 lines of transcripts could not be read")
	require.Contains(t, errOut, "link.jsonl")
	require.Contains(t, errOut, "linked")
	require.Contains(t, errOut, "folder.jsonl is not a file")
	var event schema.Event
	m.get("/events/1", &event)
	require.Less(t, len(event.Chat), 6<<20+1)
	require.Greater(t, len(event.Chat), 1<<20)
	require.Contains(t, string(event.Chat), "the end")
	require.NotContains(t, string(event.Chat), "line 0 ")
	require.NotContains(t, string(event.Chat), "AAAAAAAA")
	var in history.ImportedSession
	require.NoError(t, json.Unmarshal(event.Payload, &in))
	require.True(t, in.ChatCut)

	out, _, _ = m.run("--since", "all", "--dry-run")
	require.Contains(t, out, "Would import 2 sessions of Claude Code")
	require.Len(t, m.sessions(), 1)
}

// An imported session is past: it runs nowhere, asks nothing and raises no alert.
func TestImport_IsNotLive(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	with := strings.TrimSuffix(m.assistant(time.Minute, "1 "+opus, `[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]`, 5, 5), "}") + `,"costUSD":900}`
	m.write("now.jsonl", 0, with)
	m.auth = m.hub.Owner("Ada")
	_, errOut, exit := m.run()
	require.Equal(t, 0, exit, errOut)
	for _, event := range []string{
		`"hook_event_type":"UserPromptSubmit","payload":{"prompt":"x"}`,
		`"hook_event_type":"StatusLine","payload":{"cost":{"total_cost_usd":5}}`,
	} {
		status, answer := m.post("/events", `{"source_app":"live","session_id":"s",`+event+`}`)
		require.Equal(t, 200, status, answer)
	}
	all := m.sessions()
	require.Len(t, all, 2)
	require.Equal(t, "live", all[0].SourceApp, "active later")
	status, answer := m.post(control.PathAlertRules, `{"kind":"spend","usd":1,"minutes":1440,"per":"app"}`)
	require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status, answer)
	var report history.NowReport
	m.get("/api/now", &report)
	require.Len(t, report.Lanes, 1)
	require.Equal(t, "live", report.Lanes[0].SourceApp)
	require.Zero(t, report.NeedsYou)
	require.Zero(t, report.MoreLanes)
	var alerts control.AlertList
	require.Eventually(t, func() bool { m.get(control.PathAlerts, &alerts); return len(alerts.Open) > 0 }, time.Minute, 20*time.Millisecond)
	require.Len(t, alerts.Open, 1)
	require.Equal(t, "live", alerts.Open[0].SourceApp)
	var overview history.Overview
	m.get("/api/overview", &overview)
	for _, agent := range overview.Agents {
		require.Equal(t, agent.SourceApp != "live", agent.Ended, agent.SourceApp)
	}
}

func TestImport_Errors(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.writeShop()
	for want, args := range map[string][]string{
		"only the transcripts of claude-code": {"--agent", "codex"}, "--since 3y: must be": {"--since", "3y"}, "takes flags only": {"x"}, "-nope": {"--nope"},
		"no hub can be reached": {"--hub", "http://127.0.0.1:1"}, "Start the hub with hookback up": {"--hub", "http://127.0.0.1:1"}, "ftp": {"--hub", "ftp://x"},
	} {
		_, errOut, status := m.run(args...)
		require.Equal(t, 2, status, want)
		require.Contains(t, errOut, want)
	}
	out, _, status := m.run("--dry-run", "--hub", "http://127.0.0.1:1")
	require.Equal(t, 0, status)
	require.Contains(t, out, "my shop               Add paging to the <order> list\nWould import 1 session")
	out, _, status = m.run("--help")
	require.Equal(t, 0, status)
	golden, err := os.ReadFile(filepath.Join("..", "..", "..", "agentclient", "cmd", "hookback", "testdata", "help", "hookback-import.txt"))
	require.NoError(t, err)
	require.Equal(t, string(golden), out)

	m.auth = m.hub.Owner("Ada") // locks the hub
	m.env["HOOKBACK_TOKEN"] = "hubin_" + strings.Repeat("x", 40)
	_, errOut, status := m.run()
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "Set HOOKBACK_TOKEN to a token of this hub")
	require.Empty(t, m.sessions())
	m.env["CLAUDE_CONFIG_DIR"] = filepath.Join(m.dir, "none")
	_, errOut, status = m.run()
	require.Equal(t, 2, status)
	require.Contains(t, errOut, "set CLAUDE_CONFIG_DIR")
}

func TestImport_OffersUntilDeclined(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out, _, status := m.runWith("y\n", "--offer")
	require.Equal(t, 0, status)
	require.Empty(t, out, "there is nothing to import")
	m.writeShop()
	out, _, _ = m.runWith("n\n", "--offer")
	require.Equal(t, "Found 1 session of Claude Code in the last 30 days. Import them? [Y/n] Nothing was imported. Import them later with: hookback import\n", out)
	out, _, _ = m.runWith("y\n", "--offer")
	require.Empty(t, out, "declined")
	require.Empty(t, m.sessions())
	require.NoError(t, os.RemoveAll(m.env["XDG_CACHE_HOME"]))
	out, _, _ = m.runWith("", "--offer")
	require.Contains(t, out, "Nothing was imported.")
	out, _, _ = m.runWith("", "--offer", "--yes")
	require.Contains(t, out, "Imported 1 session of Claude Code")
	require.NotContains(t, out, "[Y/n]")
	require.NoError(t, os.RemoveAll(m.env["XDG_CACHE_HOME"]))
	out, _, _ = m.runWith("\n", "--offer")
	require.Empty(t, out, "everything is imported")
	m.write("b.jsonl", day, m.assistant(day, "1 "+opus, `[]`, 1, 1))
	out, _, _ = m.runWith("\n", "--offer")
	require.Contains(t, out, "Import them? [Y/n] Imported 1 session")
	m.env["CLAUDE_CONFIG_DIR"] = m.dir
	out, errOut, status := m.runWith("y\n", "--offer")
	require.Zero(t, status)
	require.Empty(t, out+errOut)
}
