package install_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// opencode is an isolated OpenCode: node runs the installed plugin, an HTTP server receives
// its replies, and a script replaces hookback.
type opencode struct {
	*testMachine
	stdin   io.WriteCloser
	stdout  *bufio.Scanner
	replies chan string // "PATH BODY"
	runDir  string      // where the script records its inputs and arguments
}

// missingScript means that hookback is not installed.
const missingScript = "missing"

func startOpenCode(t *testing.T, script string, arguments ...string) *opencode {
	t.Helper()
	return startOpenCodeWith(t, "testdata/opencode.mjs", script, arguments...)
}

func startOpenCodeWith(t *testing.T, driver, script string, arguments ...string) *opencode {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("node is not installed")
	}
	require.NoError(t, err)
	o := &opencode{testMachine: newTestMachine(t), replies: make(chan string, 16)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.replies <- r.URL.Path + " " + string(body)
	}))
	t.Cleanup(server.Close)

	target := installOptions("opencode")
	target.Binary = o.home("bin of mine/hookback")
	o.runDir = o.home("run")
	require.NoError(t, os.MkdirAll(o.runDir, 0o700))
	if script != missingScript {
		o.write(target.Binary, "#!/bin/sh\ncd '"+o.runDir+"'\nprintf '%s\\n' \"$*\" >> args\ninput=$(cat)\nprintf '%s\\n' \"$input\" >> told\n"+script)
		require.NoError(t, os.Chmod(target.Binary, 0o700)) //nolint:gosec // it is run
	}
	o.install(target)
	o.write(o.home(".config/opencode/plugin/package.json"), `{"type":"module"}`)

	driver, err = filepath.Abs(driver)
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), node, append([]string{driver, o.home(".config/opencode/plugin/hookback.js"), server.URL}, arguments...)...)
	cmd.Dir = o.machine.Dir
	cmd.Stderr = os.Stderr
	o.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	o.stdout = bufio.NewScanner(stdout)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, o.stdin.Close())
		require.NoError(t, cmd.Wait())
	})
	o.expectLine("ready")
	return o
}

func (o *opencode) nextReply() string {
	o.t.Helper()
	select {
	case reply := <-o.replies:
		return reply
	case <-time.After(30 * time.Second):
		require.Fail(o.t, "no reply")
		return ""
	}
}

func (o *opencode) waitUntil(condition func() bool) {
	o.t.Helper()
	require.Eventually(o.t, condition, 30*time.Second, 5*time.Millisecond)
}

func (o *opencode) expectLine(line string) {
	o.t.Helper()
	require.True(o.t, o.stdout.Scan(), "OpenCode exited: %v", o.stdout.Err())
	require.Equal(o.t, line, o.stdout.Text())
}

// callHook calls one of the plugin's hooks and waits until it has returned.
func (o *opencode) callHook(hook string, args ...string) {
	o.t.Helper()
	_, err := io.WriteString(o.stdin, `{"hook":"`+hook+`","args":[`+strings.Join(args, ",")+"]}\n")
	require.NoError(o.t, err)
	o.expectLine("returned " + hook)
}

func (o *opencode) sendEvent(kind, properties string) {
	o.t.Helper()
	o.callHook("event", `{"event":{"id":"evt_1","type":"`+kind+`","properties":`+properties+`}}`)
}

// waitForInputs waits until the script has received n inputs and returns them.
func (o *opencode) waitForInputs(n int) (inputs []map[string]json.RawMessage) {
	o.t.Helper()
	var text string
	o.waitUntil(func() bool {
		raw, _ := os.ReadFile(filepath.Join(o.runDir, "told"))
		text = string(raw)
		return strings.Count(text, "\n") >= n
	})
	for line := range strings.Lines(text) {
		var input map[string]json.RawMessage
		require.NoError(o.t, json.Unmarshal([]byte(line), &input))
		inputs = append(inputs, input)
	}
	require.Len(o.t, inputs, n)
	return inputs
}

func TestOpenCodePlugin_PostsHookOutput(t *testing.T) {
	t.Parallel()
	o := startOpenCode(t, `
case $input in
*per_always*) echo '{"reply":"always"}' ;;
*per_once*) echo '{"reply":"once"}' ;;
*per_no*) echo '{"reply":"reject","message":"Not today."}' ;;
*per_v2*) echo '{"reply":"once"}' ;;
*que_answer*) echo '{"answers":[["SQLite"],["lint","test"]]}' ;;
*que_no*) echo '{"reply":"reject","message":"Later."}' ;;
esac`)
	for _, c := range []struct{ event, id, reply string }{
		{"permission.asked", "per_once", `/permission/per_once/reply {"reply":"once"}`},
		{"permission.asked", "per_always", `/permission/per_always/reply {"reply":"always"}`},
		{"permission.asked", "per_no", `/permission/per_no/reply {"reply":"reject","message":"Not today."}`},
		{"permission.v2.asked", "per_v2", `/api/session/ses_1/permission/per_v2/reply {"reply":"once"}`},
		{"question.asked", "que_answer", `/question/que_answer/reply {"answers":[["SQLite"],["lint","test"]]}`},
		{"question.v2.asked", "que_answer2", `/api/session/ses_1/question/que_answer2/reply {"answers":[["SQLite"],["lint","test"]]}`},
		{"question.asked", "que_no", `/question/que_no/reject `},
		{"question.v2.asked", "que_no2", `/api/session/ses_1/question/que_no2/reject `},
	} {
		o.sendEvent(c.event, `{"id":"`+c.id+`","sessionID":"ses_1","permission":"bash","patterns":["ls"]}`)
		require.Equal(t, c.reply, o.nextReply())
	}
	input := o.waitForInputs(8)[0]
	require.JSONEq(t, `"permission.asked"`, string(input["type"]))
	require.Contains(t, string(input["properties"]), `"per_once"`)
	dir, err := json.Marshal(o.machine.Dir)
	require.NoError(t, err)
	require.JSONEq(t, string(dir), string(input["directory"]))
	require.JSONEq(t, string(dir), string(input["worktree"]))
	require.Contains(t, o.read(filepath.Join(o.runDir, "args")), "hook opencode --limit 3600s")
}

func TestOpenCodePlugin_LocalAnswerStopsHook(t *testing.T) {
	t.Parallel()
	o := startOpenCode(t, `
case $input in
*_wait*) trap 'kill $!; echo "$input" >> ended; echo "{\"reply\":\"once\"}"; exit 0' TERM; sleep 300 & echo x >> waits; wait ;;
*per_last*) echo '{"reply":"once"}' ;;
esac`)
	ends := 0
	for _, c := range []struct{ asked, answered, name string }{
		{"permission.asked", "permission.replied", "requestID"},
		{"permission.asked", "permission.replied", "permissionID"}, // older versions
		{"question.asked", "question.rejected", "requestID"},
		{"question.v2.asked", "question.v2.replied", "requestID"},
	} {
		o.sendEvent(c.asked, `{"id":"id_wait","sessionID":"ses_1"}`)
		ends++
		o.waitUntil(func() bool { return o.countLines("waits") == ends })
		o.sendEvent(c.answered, `{"sessionID":"ses_1","`+c.name+`":"id_wait"}`)
		o.waitUntil(func() bool { return o.countLines("ended") == ends })
	}
	o.sendEvent("permission.asked", `{"id":"per_last","sessionID":"ses_1"}`)
	require.Contains(t, o.nextReply(), "/permission/per_last/reply", "the output of a stopped hook is not posted")
}

func (o *opencode) countLines(file string) int {
	raw, _ := os.ReadFile(filepath.Join(o.runDir, file))
	return strings.Count(string(raw), "\n")
}

func TestOpenCodePlugin_AddsToolArguments(t *testing.T) {
	t.Parallel()
	o := startOpenCode(t, "")
	o.callHook("tool.execute.before", `{"tool":"linear_create_issue","sessionID":"ses_1","callID":"call_1"}`, `{"args":{"title":"Drop orders_old"}}`)
	o.waitForInputs(1) // wait, because events are sent one at a time
	o.sendEvent("permission.asked", `{"id":"per_1","sessionID":"ses_1","permission":"linear_create_issue","patterns":["*"],"tool":{"messageID":"m","callID":"call_1"}}`)
	o.waitForInputs(2)
	o.callHook("tool.execute.after", `{"tool":"linear_create_issue","sessionID":"ses_1","callID":"call_1","args":{"title":"Drop orders_old"}}`, `{"title":"Done","output":"`+strings.Repeat("x", 20<<10)+`"}`)
	o.waitForInputs(3)
	o.sendEvent("permission.v2.asked", `{"id":"per_2","sessionID":"ses_1","action":"read","resources":["a"],"source":{"callID":"call_1"}}`)
	inputs := o.waitForInputs(4)
	require.JSONEq(t, `{"tool":"linear_create_issue","sessionID":"ses_1","callID":"call_1","args":{"title":"Drop orders_old"}}`, string(inputs[0]["properties"]))
	require.JSONEq(t, `{"tool":"linear_create_issue","args":{"title":"Drop orders_old"}}`, string(inputs[1]["call"]))
	require.Contains(t, string(inputs[2]["properties"]), `"title":"Done"`)
	require.Less(t, len(inputs[2]["properties"]), 17<<10, "a long output is truncated")
	require.NotContains(t, inputs[3], "call", "the arguments of a finished call are dropped")
}

func TestOpenCodePlugin_SendsEventsInOrder(t *testing.T) {
	t.Parallel()
	o := startOpenCode(t, "")
	kinds := []string{"session.created", "session.compacted", "session.error", "session.idle", "session.deleted"}
	for _, kind := range kinds {
		o.sendEvent(kind, `{"sessionID":"ses_1"}`)
		o.sendEvent("message.part.updated", `{"sessionID":"ses_1"}`)
	}
	for i, input := range o.waitForInputs(len(kinds)) {
		require.JSONEq(t, `"`+kinds[i]+`"`, string(input["type"]))
	}
}

func TestOpenCodePlugin_NeverThrows(t *testing.T) {
	t.Parallel()
	broken := func(o *opencode) {
		for _, args := range []string{``, `null`, `{}`, `{"event":null}`, `{"event":{"type":"permission.asked"}}`, `{"event":{"type":"question.replied","properties":null}}`,
			`{"event":{"type":"permission.asked","properties":{"id":7}}}`, `{"event":{"type":"constructor"}}`} {
			o.callHook("event", args)
			o.callHook("tool.execute.before", args)
			o.callHook("tool.execute.after", args)
		}
	}
	t.Run("without hookback", func(t *testing.T) {
		t.Parallel()
		o := startOpenCode(t, missingScript)
		o.sendEvent("permission.asked", `{"id":"per_1","sessionID":"ses_1"}`)
		o.sendEvent("session.idle", `{"sessionID":"ses_1"}`)
		broken(o)
		require.Empty(t, o.replies)
	})
	t.Run("with invalid answers", func(t *testing.T) {
		t.Parallel()
		o := startOpenCode(t, `
case $input in
*per_text*) echo 'yes' ;;
*per_word*) echo '{"reply":"sudo"}' ;;
*per_null*) echo 'null' ;;
*per_status*) echo '{"reply":"once"}'; exit 1 ;;
*per_good*) echo '{"reply":"once"}' ;;
esac`)
		broken(o)
		for n, id := range []string{"per_text", "per_word", "per_null", "per_status"} {
			o.sendEvent("permission.asked", `{"id":"`+id+`","sessionID":"ses_1"}`)
			o.waitUntil(func() bool { return o.countLines("told") > n })
		}
		o.sendEvent("permission.asked", `{"id":"per_good","sessionID":"ses_1"}`)
		require.Contains(t, o.nextReply(), "per_good")
		require.Empty(t, o.replies)
	})
	t.Run("while hookback hangs", func(t *testing.T) {
		t.Parallel()
		o := startOpenCode(t, `trap 'kill $!; echo x >> ended; exit 0' TERM; sleep 300 & echo x >> waits; wait`)
		o.sendEvent("permission.asked", `{"id":"per_1","sessionID":"ses_1"}`)
		o.callHook("tool.execute.before", `{"tool":"bash","sessionID":"ses_1","callID":"call_1"}`, `{"args":{}}`)
		o.waitUntil(func() bool { return o.countLines("waits") == 2 })
		o.callHook("dispose")
		o.waitUntil(func() bool { return o.countLines("ended") == 2 })
	})
}

func TestOpenCodePlugin_FallsBackToServerURL(t *testing.T) {
	t.Parallel()
	o := startOpenCode(t, `echo '{"reply":"once"}'`, "bare")
	o.sendEvent("permission.v2.asked", `{"id":"per/1","sessionID":"ses_1"}`)
	require.Equal(t, `/api/session/ses_1/permission/per/1/reply {"reply":"once"}`, o.nextReply())
}

// In version 2 the plugin answers the hook of a permission, and leaves everything else unchanged.
func TestOpenCodePlugin_AnswersVersion2(t *testing.T) {
	t.Parallel()
	const events = "testdata/opencode2.mjs"
	evaluate := func(o *opencode, resource, effect, want string) {
		o.t.Helper()
		evaluation := `"sessionID":"ses_1","action":"shell","resources":["` + resource + `"],"source":{"type":"tool","messageID":"m","id":"call_1"}`
		o.callHook("permission.evaluate", `{`+evaluation+`,"effect":"`+effect+`"}`)
		require.True(o.t, o.stdout.Scan())
		require.JSONEq(o.t, `{`+evaluation+`,`+want+`}`, o.stdout.Text())
	}
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		o := startOpenCodeWith(t, events, `
case $input in
*deny_it*) echo '{"effect":"deny","message":"Not now."}' ;;
*allow_it*) echo '{"effect":"allow"}' ;;
*ask_it*) echo '{"effect":"ask"}' ;;
*sudo_it*) echo '{"effect":"sudo"}' ;;
*null_it*) echo 'null' ;;
*text_it*) echo 'yes' ;;
*fail_it*) echo '{"effect":"allow"}'; exit 1 ;;
esac`)
		o.callHook("tool.execute.before", `{"tool":"shell","sessionID":"ses_1","id":"call_1","input":{"command":"make"}}`)
		evaluate(o, "deny_it", "allow", `"effect":"deny","message":"Not now."`)
		evaluate(o, "allow_it", "ask", `"effect":"allow"`)
		evaluate(o, "ask_it", "allow", `"effect":"ask"`)
		for _, resource := range []string{"sudo_it", "null_it", "text_it", "fail_it", "other"} {
			evaluate(o, resource, "ask", `"effect":"ask"`)
		}
		inputs := o.waitForInputs(8)
		require.JSONEq(t, `"permission.evaluate"`, string(inputs[0]["type"]))
		require.JSONEq(t, `{"tool":"shell","args":{"command":"make"}}`, string(inputs[0]["call"]))
		require.Contains(t, string(inputs[0]["properties"]), `"effect":"allow"`)

		o.callHook("tool.execute.after", `{"tool":"shell","sessionID":"ses_1","id":"call_1","input":{},"status":"completed","result":{"output":"`+strings.Repeat("x", 20<<10)+`"}}`)
		o.waitForInputs(9)
		o.callHook("event", `{"type":"session.idle","data":{"sessionID":"ses_1"}}`)
		inputs = o.waitForInputs(10)
		require.JSONEq(t, `"tool.execute.after"`, string(inputs[8]["type"]))
		require.Less(t, len(inputs[8]["properties"]), 17<<10, "a long output is truncated")
		require.JSONEq(t, `{"sessionID":"ses_1"}`, string(inputs[9]["properties"]))
	})
	t.Run("without hookback", func(t *testing.T) {
		t.Parallel()
		o := startOpenCodeWith(t, events, missingScript)
		evaluate(o, "ls", "allow", `"effect":"allow"`)
		for _, hook := range []string{"tool.execute.before", "tool.execute.after"} {
			o.callHook(hook, `null`)
		}
		o.callHook("dispose")
	})
	t.Run("disposed", func(t *testing.T) {
		t.Parallel()
		o := startOpenCodeWith(t, events, `trap 'kill $!; exit 0' TERM; sleep 300 & echo x >> waits; wait`)
		_, err := io.WriteString(o.stdin, `{"hook":"permission.evaluate","args":[{"action":"shell","resources":["ls"],"effect":"allow"}]}`+"\n")
		require.NoError(t, err)
		o.waitUntil(func() bool { return o.countLines("waits") == 1 })
		o.callHook("dispose")
		o.expectLine("returned permission.evaluate")
		require.True(t, o.stdout.Scan())
		require.JSONEq(t, `{"action":"shell","resources":["ls"],"effect":"ask"}`, o.stdout.Text(), "no one decided")
		evaluate(o, "ls", "allow", `"effect":"ask"`)
		evaluate(o, "ls", "deny", `"effect":"deny"`)
		require.Equal(t, 1, o.countLines("waits"))
	})
}
