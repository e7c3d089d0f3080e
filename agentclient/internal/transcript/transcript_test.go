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
	output    = `{"type":"user","message":{"role":"user","content":"<local-command-stdout>$1</local-command-stdout>"}}`
	subagent  = `{"type":"assistant","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"From a subagent"}]}}`
)

// user returns a line of the person.
func user(content string) string {
	return `{"type": "user", "message": {"role": "user", "content": ` + content + `}}`
}

// queued returns a line with a prompt that was queued while the model worked.
func queued(mode, origin, prompt string) string {
	return `{"type":"attachment","attachment":{"type":"queued_command","commandMode":"` + mode + `","origin":{"kind":"` + origin + `"},"prompt":` + prompt + `}}`
}

func TestRead_ReturnsNewestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  transcript.Messages
	}{
		"claude":                       {[]string{oldPrompt, oldReply, prompt, thought, reply, call, result, call}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"no words since the prompt":    {[]string{oldPrompt, oldReply, prompt, call}, transcript.Messages{Prompt: "Drop the old table"}},
		"lines of the agent's program": {[]string{prompt, reply, reminder, command, output, subagent, call}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"unreadable lines":             {[]string{prompt, "{", reply, `{"type":"assistant","message":7}`, "null", `[]`, ""}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"codex": {[]string{
			`{"type":"event_msg","payload":{"type":"user_message","message":"Drop the old table"}}`,
			`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will drop orders_old."}]}}`,
			`{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}"}}`,
		}, transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}},
		"empty": {nil, transcript.Messages{}},

		// The newest prompt is shown or none, never an older one.
		"code as a prompt":       {[]string{prompt, reply, user(`"<OrdersTable> is obsolete"`), result}, transcript.Messages{Prompt: "<OrdersTable> is obsolete"}},
		"a task as a prompt":     {[]string{prompt, reply, user(`"<task>Tidy up</task>"`)}, transcript.Messages{Prompt: "<task>Tidy up</task>"}},
		"codex, code":            {[]string{`{"type":"event_msg","payload":{"type":"user_message","message":"<div> is wrong"}}`}, transcript.Messages{Prompt: "<div> is wrong"}},
		"a prompt after a note":  {[]string{user(`[{"type":"text","text":"<ide_selection>x</ide_selection>"},{"type":"text","text":"<system-reminder>y</system-reminder>\nDrop it"}]`)}, transcript.Messages{Prompt: "Drop it"}},
		"only notes":             {[]string{prompt, user(`"<task-notification>\n<summary>Done</summary></task-notification>"`), user(`"<bash-input>ls</bash-input>"`), user(`"<system-reminder>cut"`)}, transcript.Messages{Prompt: "Drop the old table"}},
		"an image":               {[]string{prompt, reply, user(`[{"type":"image","source":{}}]`)}, transcript.Messages{}},
		"a slash command":        {[]string{prompt, user(`"<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>staging</command-args>"`), reminder}, transcript.Messages{Prompt: "/deploy staging"}},
		"a plain slash command":  {[]string{prompt, user(`"<command-name>/deploy</command-name>"`)}, transcript.Messages{Prompt: "/deploy"}},
		"a skill of the model":   {[]string{prompt, user(`"<command-message>x</command-message><command-name>x</command-name><skill-format>true</skill-format>"`)}, transcript.Messages{Prompt: "Drop the old table"}},
		"a queued prompt":        {[]string{prompt, reply, queued("prompt", "human", `"And the views"`)}, transcript.Messages{Prompt: "And the views"}},
		"queued blocks":          {[]string{prompt, queued("prompt", "", `[{"type":"text","text":"And the views"}]`)}, transcript.Messages{Prompt: "And the views"}},
		"a queued notification":  {[]string{prompt, queued("task-notification", "task-notification", `"Done"`), queued("prompt", "peer", `"Hi"`)}, transcript.Messages{Prompt: "Drop the old table"}},
		"lines of other senders": {[]string{prompt, `{"type":"user","rowSource":"harness","message":{"content":"Go on"}}`, `{"type":"user","origin":{"kind":"peer"},"message":{"content":"Hi"}}`}, transcript.Messages{Prompt: "Drop the old table"}},
		"an older copy":          {[]string{oldPrompt, user(`"<B>"`), `{"type":"last-prompt","lastPrompt":"Say hello"}`}, transcript.Messages{Prompt: "<B>"}},
		"an interruption":        {[]string{prompt, user(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`)}, transcript.Messages{Prompt: "Drop the old table"}},
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

	huge := strings.Replace(result, "ok", strings.Repeat("x", 700<<10), 1)
	want := transcript.Messages{Prompt: "Drop the old table", Last: "I will drop orders_old."}
	require.Equal(t, want, transcript.Read(t.Context(), write(t, prompt, reply, huge)), "the last line is longer than one read")
	require.Equal(t, want, transcript.Read(t.Context(), write(t, oldPrompt, prompt, huge, huge, reply, huge, huge)))
	image := `[{"type":"image","source":"` + strings.Repeat("x", 2<<20) + `"},{"type":"text","text":"Like this"}]`
	require.Equal(t, transcript.Messages{Prompt: "Like this"}, transcript.Read(t.Context(), write(t, prompt, user(image))))
	copied := `{"type":"last-prompt","lastPrompt":"Drop the old table"}`
	tooLarge := strings.Replace(result, "ok", strings.Repeat("x", 33<<20), 1)
	require.Equal(t, want, transcript.Read(t.Context(), write(t, prompt, tooLarge, reply, copied)))
	require.Empty(t, transcript.Read(t.Context(), write(t, prompt, reply, tooLarge)), "it reads at most 32 MiB")
}

func TestRead_IgnoresFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{"", dir, filepath.Join(dir, "missing"), pipe} {
		require.Empty(t, transcript.Read(t.Context(), path))
	}
}

func TestPlan(t *testing.T) {
	dir := t.TempDir()
	plans := filepath.Join(dir, "plans")
	require.NoError(t, os.Mkdir(plans, 0o700))
	file := func(name, text string) string {
		path := filepath.Join(plans, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	use := func(name, input string) string {
		return `{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"` + name + `","input":` + input + `}]}}`
	}
	current := file("wild-fox.md", "# Move it\n\n1. Copy\n")
	pipe := filepath.Join(plans, "pipe.md")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(plans, "link.md")
	require.NoError(t, os.Symlink(file("id_rsa", "secret"), link))
	other := filepath.Join(dir, "project", "plans", "secret.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o700))
	require.NoError(t, os.WriteFile(other, []byte("# Secret"), 0o600))
	away := filepath.Join(plans, "away.md")
	require.NoError(t, os.Symlink(other, away))
	config := filepath.Join(dir, "config")
	require.NoError(t, os.Symlink(plans, config))
	written := use("Write", `{"file_path":"`+current+`","content":"# First"}`)
	exit := use("ExitPlanMode", `{}`)
	for name, c := range map[string]struct {
		file  string
		lines []string
		want  string
	}{
		"the file":                  {current, nil, "# Move it\n\n1. Copy"},
		"no file, no transcript":    {"", nil, ""},
		"a missing file":            {filepath.Join(plans, "none.md"), []string{written, exit}, ""},
		"a file on another machine": {"/gone/plans/x.md", []string{use("Write", `{"file_path":"/gone/plans/x.md","content":"# First"}`), written, exit}, "# First"},
		"no Markdown":               {file("id_ed25519", "secret"), nil, ""},
		"a link":                    {link, nil, ""},
		"a link to another folder":  {away, nil, ""},
		"another folder":            {other, nil, ""},
		"the text of a call in another folder": {
			other, []string{use("Write", `{"file_path":"`+other+`","content":"# Public"}`), exit}, "# Public",
		},
		"another folder in the transcript": {"", []string{use("Edit", `{"file_path":"`+other+`"}`), exit}, ""},
		"another way to the folder":        {filepath.Join(config, "wild-fox.md"), nil, "# Move it\n\n1. Copy"},
		"a detour":                         {plans + "/../project/plans/secret.md", nil, ""},
		"a pipe":                           {pipe, nil, ""},
		"a relative path":                  {"plans/wild-fox.md", nil, ""},
		"not UTF-8":                        {file("bad.md", "\xff"), nil, ""},
		"too large":                        {file("large.md", strings.Repeat("x", 257<<10)), nil, ""},
		"the plan of the call":             {"", []string{written, use("ExitPlanMode", `{"plan":"# Drop it"}`)}, "# Drop it"},
		"the file that is written":         {"", []string{prompt, written, result, exit}, "# Move it\n\n1. Copy"},
		"the text that is written":         {"", []string{use("Write", `{"file_path":"/gone/plans/x.md","content":"# First"}`), exit}, "# First"},
		"an edit of a lost file":           {"", []string{written, use("Edit", `{"file_path":"/gone/plans/x.md"}`), exit}, ""},
		"a reminder of the file":           {"", []string{`{"type":"attachment","attachment":{"type":"plan_mode","planFilePath":"` + current + `"}}`, prompt, exit}, "# Move it\n\n1. Copy"},
		"the content in the transcript": {
			"", []string{`{"type":"attachment","attachment":{"type":"plan_file_reference","planFilePath":"/gone/plans/x.md","planContent":"# Kept"}}`, exit}, "# Kept",
		},
		"other files": {"", []string{use("Write", `{"file_path":"/src/plans.md","content":"x"}`), `{"type":"assistant","message":7,"x":"ExitPlanMode"}`, exit}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, transcript.Plan(t.Context(), []string{filepath.Join(dir, "none"), plans}, c.file, write(t, c.lines...)))
		})
	}
}
