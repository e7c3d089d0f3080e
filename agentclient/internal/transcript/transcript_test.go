package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, lines ...string) string {
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

const (
	oldPrompt = `{"type":"user","message":{"role":"user","content":"Say hello"}}`
	oldReply  = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hello"}]}}`
	prompt    = `{"type":"user","isSidechain":false,"message":{"role":"user","content":[{"type":"text","text":"Drop the old table"}]}}`
	thought   = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}}`
	reply     = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I will drop orders_old."}]}}`
	call      = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"psql"}}]}}`
	result    = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
	reminder  = `{"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat: made by the program"}}`
	command   = `{"type":"user","message":{"role":"user","content":"<command-name>/cost</command-name>"}}`
	subagent  = `{"type":"assistant","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"From a subagent"}]}}`
)

func TestRead_ReturnsNewestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  transcript.Messages
	}{
		"claude":                       {[]string{oldPrompt, oldReply, prompt, thought, reply, call, result, call}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"no words since the prompt":    {[]string{oldPrompt, oldReply, prompt, call}, transcript.Messages{Prompt: "Drop the old table"}},
		"lines of the agent's program": {[]string{prompt, reply, reminder, command, subagent, call}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"unreadable lines":             {[]string{prompt, "{", reply, `{"type":"assistant","message":7}`, "null", `[]`, ""}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"codex": {[]string{
			`{"type":"event_msg","payload":{"type":"user_message","message":"Drop the old table"}}`,
			`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will drop orders_old."}]}}`,
			`{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}"}}`,
		}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"empty": {nil, transcript.Messages{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, transcript.Read(t.Context(), write(t, c.lines...))) })
	}
}

func TestRead_LimitsLengthAndSize(t *testing.T) {
	long := strings.Replace(reply, "I will", strings.Repeat("é", 2500), 1)
	m := transcript.Read(t.Context(), write(t, strings.Repeat(oldPrompt+"\n", 10000), prompt, long))
	require.Equal(t, "Drop the old table", m.Prompt)
	require.Equal(t, 2000, utf8.RuneCountInString(m.Last))
	require.True(t, strings.HasSuffix(m.Last, "é…"))

	huge := strings.Replace(call, "psql", strings.Repeat("x", 600<<10), 1)
	copied := `{"type":"last-prompt","lastPrompt":"Drop the old table"}`
	require.Equal(t, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}, transcript.Read(t.Context(), write(t, prompt, huge, reply, copied)))
	require.Empty(t, transcript.Read(t.Context(), write(t, prompt, reply, huge)), "the last 512 KiB are one incomplete line")
}

func TestRead_IgnoresFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{"", dir, filepath.Join(dir, "missing"), pipe} {
		require.Empty(t, transcript.Read(t.Context(), path))
	}
}
