package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// noon is a quarter-hour, Unix ms.
const noon = 1_795_262_400_000

// at returns the member with a time in minutes after noon.
func at(minutes int) string {
	return `"timestamp":"` + time.UnixMilli(noon).Add(time.Duration(minutes)*time.Minute).UTC().Format(time.RFC3339Nano) + `"`
}

// readLines reads a transcript of these lines.
func readLines(t *testing.T, lines ...string) (*history.ImportedSession, json.RawMessage) {
	t.Helper()
	text, books := strings.Join(lines, "\n"), usage.NewBooks()
	_, err := books.Read(strings.NewReader(text), "s", true)
	require.NoError(t, err)
	s := newTranscript("s", books)
	require.NoError(t, s.read(strings.NewReader(text), "s", true))
	return s.finish()
}

func TestTranscript_Usage(t *testing.T) {
	t.Parallel()
	message := func(minutes int, id, model string, output int) string {
		return fmt.Sprintf(`{"type":"assistant",%s,"message":{"id":%q,"model":%q,"usage":{"output_tokens":%d}}}`, at(minutes), id, model, output)
	}
	used := func(minutes, requests int, model string, output int64) history.ImportedUsage {
		return history.ImportedUsage{At: schema.Millis(noon + minutes*60_000), Model: model, Requests: int64(requests), Tokens: history.Tokens{Output: output}}
	}
	for name, c := range map[string]struct {
		lines []string
		want  []history.ImportedUsage
	}{
		"nothing":                   {[]string{`{"type":"user"}`}, nil},
		"one":                       {[]string{message(3, "a", "opus", 5)}, []history.ImportedUsage{used(0, 1, "opus", 5)}},
		"last line of a message":    {[]string{message(3, "a", "opus", 1), message(4, "a", "opus", 9), message(4, "a", "opus", 9)}, []history.ImportedUsage{used(0, 1, "opus", 9)}},
		"quarter-hours":             {[]string{message(14, "a", "opus", 1), message(15, "b", "opus", 2), message(29, "c", "opus", 4), message(60, "d", "opus", 8)}, []history.ImportedUsage{used(0, 1, "opus", 1), used(15, 2, "opus", 6), used(60, 1, "opus", 8)}},
		"models":                    {[]string{message(0, "a", "opus", 1), message(0, "b", "haiku", 2), message(0, "c", "opus", 4)}, []history.ImportedUsage{used(0, 1, "haiku", 2), used(0, 2, "opus", 5)}},
		"without ids":               {[]string{message(0, "", "opus", 1), message(0, "", "opus", 2)}, []history.ImportedUsage{used(0, 2, "opus", 3)}},
		"without a time":            {[]string{message(20, "a", "opus", 1), `{"type":"assistant","message":{"id":"b","model":"opus","usage":{"output_tokens":2}}}`}, []history.ImportedUsage{used(15, 2, "opus", 3)}},
		"no tokens":                 {[]string{message(0, "a", "<synthetic>", 0)}, nil},
		"not of the model":          {[]string{strings.Replace(message(0, "a", "opus", 3), "assistant", "user", 1)}, nil},
		"forked":                    {[]string{strings.Replace(message(0, "a", "opus", 3), "{", `{"forkedFrom":{"sessionId":"x"},`, 1), message(0, "b", "opus", 4)}, []history.ImportedUsage{used(0, 1, "opus", 4)}},
		"not forked":                {[]string{strings.Replace(message(0, "a", "opus", 3), "{", `{"forkedFrom":null,`, 1)}, []history.ImportedUsage{used(0, 1, "opus", 3)}},
		"another type of one field": {[]string{strings.Replace(message(0, "a", "opus", 3), "{", `{"cwd":5,"gitBranch":[],`, 1)}, []history.ImportedUsage{used(0, 1, "opus", 3)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := readLines(t, c.lines...)
			require.Equal(t, c.want, in.Usage)
			require.Zero(t, in.UnreadableLines)
		})
	}
}

// A session of many months has longer periods, and the same total.
func TestTranscript_UsageIsLimited(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf(`{"type":"assistant",%s,"message":{"id":"%d","model":"m%d","usage":{"input_tokens":1}}}`, at(60*i), i, i%70))
	}
	in, _ := readLines(t, lines...)
	require.LessOrEqual(t, len(in.Usage), history.MaxImportedUsage)
	var sum, requests int64
	models := map[string]bool{}
	for _, u := range in.Usage {
		sum, requests = sum+u.Tokens.Input, requests+u.Requests
		models[u.Model] = true
	}
	require.EqualValues(t, 3000, sum)
	require.EqualValues(t, 3000, requests)
	require.Len(t, models, maxModels+1)
}

func TestTranscript_Cost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  float64
	}{
		"not stated":             {[]string{`{"type":"assistant","message":{"id":"a","model":"opus","usage":{"output_tokens":1000000}}}`}, 0},
		"by message":             {[]string{`{"type":"assistant","costUSD":0.5,"message":{"id":"a"}}`, `{"type":"assistant","costUSD":0.25,"message":{"id":"b"}}`}, 0.75},
		"once per message":       {[]string{`{"type":"assistant","costUSD":0.5,"message":{"id":"a"}}`, `{"type":"assistant","costUSD":0.5,"message":{"id":"a"}}`}, 0.5},
		"of the session":         {[]string{`{"type":"assistant","message":{"id":"a","usage":{"output_tokens":1}}}`, `{"type":"result","totalCostUSD":2}`, `{"type":"result","totalCostUSD":3}`}, 3},
		"both, the total larger": {[]string{`{"type":"assistant","costUSD":0.5,"message":{"id":"a"}}`, `{"type":"result","totalCostUSD":2}`}, 2},
		"both, the total lower":  {[]string{`{"type":"assistant","costUSD":0.5,"message":{"id":"a"}}`, `{"type":"result","totalCostUSD":0.25}`}, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := readLines(t, append([]string{`{"type":"user",` + at(0) + `}`}, c.lines...)...)
			sum := 0.0
			for _, u := range in.Usage {
				sum += u.CostUSD
			}
			require.InDelta(t, c.want, sum, 1e-9)
		})
	}
}

func TestTranscript_Title(t *testing.T) {
	t.Parallel()
	prompt := func(text string) string { return `{"type":"user","message":{"content":"` + text + `"}}` }
	for want, lines := range map[string][]string{
		"":                     {`{"type":"assistant","message":{"content":"Hello"}}`},
		"First":                {prompt("First"), prompt("Second")},
		"By a person":          {prompt("<command-name>x</command-name>"), prompt("[Request interrupted by user]"), prompt("By a person")},
		"Not meta":             {`{"type":"user","isMeta":true,"message":{"content":"Caveat"}}`, `{"type":"user","isCompactSummary":true,"message":{"content":"Continued"}}`, `{"type":"user","isSidechain":true,"message":{"content":"Subagent"}}`, prompt("Not meta")},
		"<Button> is too wide": {prompt("<system-reminder>x</system-reminder>"), prompt("<Button> is too wide")},
		"<task>Tidy</task>":    {prompt("<local-command-stdout></local-command-stdout>"), prompt("<task>Tidy</task>"), prompt("Second")},
		"After a note":         {`{"type":"user","message":{"content":[{"type":"text","text":"<ide_opened_file>a</ide_opened_file>"},{"type":"text","text":"After a note"}]}}`},
		"Two\nblocks":          {`{"type":"user","message":{"content":[{"type":"text","text":"Two"},{"type":"image"},{"type":"text","text":"blocks"}]}}`},
		"Named":                {prompt("First"), `{"type":"custom-title","customTitle":"Old name"}`, `{"type":"custom-title","customTitle":"Named"}`, `{"type":"summary","summary":"S"}`},
		"A summary":            {`{"type":"summary","summary":"A summary"}`, `{"type":"summary","summary":"Another"}`},
		"By the agent":         {`{"type":"ai-title","aiTitle":"By the agent"}`},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			in, _ := readLines(t, lines...)
			require.Equal(t, want, in.Title)
		})
	}
}

func TestTranscript_Tools(t *testing.T) {
	t.Parallel()
	call := func(id, tool, input string) string {
		return `{"type":"assistant","message":{"id":"m` + id + `","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"` + id + `","name":"` + tool + `","input":` + input + `}]}}`
	}
	result := func(id, members string) string {
		return `{"type":"user",` + at(1) + `,"message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `"` + members + `}]}}`
	}
	write := call("w", "Write", `{"file_path":"/src/a.go","content":"a\nb\n"}`)
	written := []history.ChangedFile{{Path: "/src/a.go", Change: "written", Added: 2, Calls: 1, Events: []schema.EventID{}, LastAt: noon + 60_000}}
	for name, c := range map[string]struct {
		lines []string
		tools []history.ImportedTool
		files []history.ChangedFile
	}{
		"no result":            {[]string{call("1", "Bash", "{}")}, nil, nil},
		"no call":              {[]string{result("1", "")}, nil, nil},
		"ended":                {[]string{call("1", "Bash", "{}"), result("1", `,"content":"ok"`)}, []history.ImportedTool{{Tool: "Bash", Calls: 1}}, nil},
		"repeated result":      {[]string{call("1", "Bash", "{}"), result("1", ""), result("1", "")}, []history.ImportedTool{{Tool: "Bash", Calls: 1}}, nil},
		"failed":               {[]string{call("1", "Bash", "{}"), result("1", `,"is_error":true`)}, []history.ImportedTool{{Tool: "Bash", Calls: 1, Failures: 1}}, nil},
		"refused":              {[]string{write, result("w", `,"is_error":true,"content":"The user doesn't want to proceed with this tool use."`)}, nil, nil},
		"interrupted":          {[]string{write, result("w", `,"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]`)}, nil, nil},
		"most used first":      {[]string{call("1", "Bash", "{}"), call("2", "Read", "{}"), call("3", "Read", "{}"), result("1", ""), result("2", ""), result("3", "")}, []history.ImportedTool{{Tool: "Read", Calls: 2}, {Tool: "Bash", Calls: 1}}, nil},
		"written":              {[]string{write, result("w", "")}, []history.ImportedTool{{Tool: "Write", Calls: 1}}, written},
		"failed write":         {[]string{write, result("w", `,"is_error":true`)}, []history.ImportedTool{{Tool: "Write", Calls: 1, Failures: 1}}, nil},
		"blocks of other form": {[]string{`{"type":"assistant","message":{"content":[5,"x",{"type":"tool_use"}]}}`, `{"type":"user","message":{"content":{"type":"tool_result"}}}`}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := readLines(t, c.lines...)
			require.Equal(t, c.tools, in.Tools)
			require.Equal(t, c.files, in.Files)
			require.Zero(t, in.UnreadableLines)
		})
	}
}

func TestTranscript_FilesAreLimited(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range history.MaxFiles + 7 {
		lines = append(lines, fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"%d","name":"Write","input":{"file_path":"/f%d","content":""}}]}}`, i, i),
			fmt.Sprintf(`{"type":"user",%s,"message":{"content":[{"type":"tool_result","tool_use_id":"%d"}]}}`, at(i), i))
	}
	in, _ := readLines(t, lines...)
	require.Len(t, in.Files, history.MaxFiles)
	require.EqualValues(t, 7, in.MoreFiles)
	require.Equal(t, fmt.Sprintf("/f%d", history.MaxFiles+6), in.Files[0].Path, "the last changed first")
}

func TestTranscript_CountsUnreadableLines(t *testing.T) {
	t.Parallel()
	for line, unreadable := range map[string]int64{
		`{}`: 0, `{"type":5}`: 0, ` {"type":"user"} `: 0, "": 0, "   ": 0, `{"timestamp":"yesterday"}`: 1,
		`[]`: 1, `5`: 1, `null`: 1, `{`: 1, `{"type":"user"`: 1, "\x00": 1, `{} {}`: 1, `{"type":"user"}x`: 1, "{\"type\":\"us\xffer\"}": 0,
		strings.Repeat("[", 100_000): 1, `{"a":` + strings.Repeat("[", 100_000): 1, `{"a":"` + strings.Repeat("x", usage.MaxLine) + `"}`: 1,
	} {
		in, _ := readLines(t, line, `{"type":"user"}`)
		require.Equal(t, unreadable, in.UnreadableLines, "%.40q", line)
		lines := int64(2)
		if strings.TrimSpace(line) == "" {
			lines = 1
		}
		require.Equal(t, lines, in.Lines, "%.40q", line)
	}
	s := newTranscript("s", usage.NewBooks())
	broken := errors.New("the disk is gone")
	require.ErrorIs(t, s.read(iotest.ErrReader(broken), "s", true), broken)
}

// The hash is that of all bytes, so that every change is imported.
func TestTranscript_Hash(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, text := range []string{"{}", "{}\n", "{} ", "{}\n{}", "x", ""} {
		s := newTranscript("s", usage.NewBooks())
		require.NoError(t, s.read(strings.NewReader(text), "s", true))
		in, _ := s.finish()
		require.Len(t, in.Hash, 32)
		require.NotContains(t, seen, in.Hash, "%q and %q", text, seen[in.Hash])
		seen[in.Hash] = text
	}
}

func TestChat_HasMessagesOnly(t *testing.T) {
	t.Parallel()
	in, chat := readLines(t,
		`{"type":"file-history-snapshot","snapshot":{"a":1}}`,
		`{"type":"user","uuid":"u","cwd":"/x","toolUseResult":{"originalFile":"large"},"message":{"content":"<b> & c"},`+at(0)+`}`,
		`{"type":"progress","data":{}}`,
		`{"type":"summary","summary":"S","leafUuid":"l"}`,
		"{\"type\":\"system\",\"content\":\"bad \xff byte\"}",
	)
	require.JSONEq(t, `[{"type":"user","message":{"content":"<b> & c"},`+at(0)+`},{"type":"summary","summary":"S"},{"type":"system","content":"bad � byte"}]`, string(chat))
	require.False(t, in.ChatCut)
	_, chat = readLines(t, `{"type":"progress"}`)
	require.Nil(t, chat)
}

func TestChat_KeepsNewest(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"type":"user","message":{"content":"%d %s"}}`, i, strings.Repeat("x", 300<<10)))
	}
	in, chat := readLines(t, lines...)
	require.True(t, in.ChatCut)
	require.LessOrEqual(t, len(chat), maxChat+1)
	var all []struct{ Message struct{ Content string } }
	require.NoError(t, json.Unmarshal(chat, &all))
	require.Len(t, all, 20)
	require.True(t, strings.HasPrefix(all[0].Message.Content, "20 "))
	require.True(t, strings.HasPrefix(all[19].Message.Content, "39 "))

	in, chat = readLines(t, `{"type":"user","message":{"content":"`+strings.Repeat("<", maxChatLine/6)+`"}}`, `{"type":"user","message":{"content":"end"}}`)
	require.True(t, in.ChatCut, "escaped, the line is too long")
	require.JSONEq(t, `[{"type":"user","message":{"content":"end"}}]`, string(chat))
}

func TestChat_LeavesOutDeepLines(t *testing.T) {
	t.Parallel()
	deep := `{"type":"user","message":{"content":` + strings.Repeat("[", schema.MaxDepth) + strings.Repeat("]", schema.MaxDepth) + `}}`
	in, chat := readLines(t, deep, `{"type":"user","message":{"content":"end"}}`)
	require.True(t, in.ChatCut)
	require.Zero(t, in.UnreadableLines)
	require.JSONEq(t, `[{"type":"user","message":{"content":"end"}}]`, string(chat))
}

// newProjects returns the folder of a test, with these files.
func newProjects(t *testing.T, files map[string]string) *projects {
	t.Helper()
	config := t.TempDir()
	for name, text := range files {
		file := filepath.Join(config, "projects", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	p, err := openProjects(func(string) string { return config })
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

// find returns the files of all sessions, sorted.
func (p *projects) find() (files map[string][]string, problems []error) {
	all, problems := p.files()
	found := p.index(all, func(string, time.Time) bool { return true })
	files = map[string][]string{}
	for _, s := range found.sessions {
		for _, f := range s.files {
			files[s.id] = append(files[s.id], f.name)
		}
		slices.Sort(files[s.id])
	}
	return files, append(problems, found.problems...)
}

func TestProjects_FindsSubagents(t *testing.T) {
	t.Parallel()
	p := newProjects(t, map[string]string{
		"-src-a/one.jsonl": `{"type":"user"}`, "-src-a/two.jsonl": "", "-src-a/notes.txt": "", "-src-a/memory/x.jsonl": "",
		"-src-a/one/subagents/agent-1.jsonl": `{"agentId":"1"}`, "-src-a/one/subagents/agent-1.meta.json": `{}`,
		"-src-a/one/subagents/workflows/w1/agent-5.jsonl": `{"agentId":"5"}`, "-src-a/one/tool-results/x.jsonl": "",
		"-src-a/agent-2.jsonl": `{"sessionId":"two","agentId":"2"}`, "-src-a/agent-3.jsonl": `{"sessionId":"elsewhere"}`, "-src-a/agent-4.jsonl": `broken`,
		"-src b/one.jsonl": `{"type":"user"}`, "file.jsonl": "",
	})
	found, problems := p.find()
	require.Empty(t, problems)
	require.Equal(t, map[string][]string{
		"one": {"-src b/one.jsonl", "-src-a/one.jsonl", "-src-a/one/subagents/agent-1.jsonl", "-src-a/one/subagents/workflows/w1/agent-5.jsonl"},
		"two": {"-src-a/agent-2.jsonl", "-src-a/two.jsonl"},
	}, found)
}

// A link may stay within the folder, and not leave it.
func TestProjects_FollowNoLinksOut(t *testing.T) {
	t.Parallel()
	p := newProjects(t, map[string]string{"a/one.jsonl": `{"type":"user"}`})
	secret := filepath.Join(t.TempDir(), "secret.jsonl")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type":"user"}`), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(p.dir, "a", "out.jsonl")))
	require.NoError(t, os.Symlink("one.jsonl", filepath.Join(p.dir, "a", "in.jsonl")))
	require.NoError(t, os.Symlink("/nonexistent", filepath.Join(p.dir, "a", "gone.jsonl")))
	found, problems := p.find()
	require.Len(t, problems, 2)
	require.Equal(t, map[string][]string{"one": {"a/one.jsonl"}, "in": {"a/in.jsonl"}}, found)
	out := &sessionFiles{id: "out", files: []transcriptFile{{name: "a/out.jsonl", owner: "out", isMain: true}}}
	_, err := p.read(out, usage.NewBooks())
	require.Error(t, err)
}

func TestProjectName_IsThatOfHooks(t *testing.T) {
	t.Parallel()
	for cwd, want := range map[string]string{
		"": "claude-code", "/": "claude-code", "/src/shop": "shop", "/src/my shop/": "my shop", `C:\src\shop`: "shop", `C:\`: "claude-code", "/src/ shop ": "shop",
	} {
		require.Equal(t, want, projectName(cwd), cwd)
	}
}

func TestCount_SeparatesThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 tokens", 1: "1 token", 999: "999 tokens", 1000: "1,000 tokens", 1234567: "1,234,567 tokens"} {
		require.Equal(t, want, count(n, "token"))
	}
	require.Equal(t, "a�b", printable("a\x1bb"))
}
