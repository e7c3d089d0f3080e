package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// sdkSession is Claude Code as its SDKs run it: it asks the host for permission over stdio
// while the hook runs.
type sdkSession struct {
	in   io.WriteCloser
	done chan struct{} // closed at the end of its output

	mu    sync.Mutex
	lines []string
}

func (p *testEnv) startSDK(t *testing.T, m *model) *sdkSession {
	t.Helper()
	cmd := exec.CommandContext(p.ctx, claudeProgram(t), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio")
	cmd.Dir, cmd.Env = p.project, append(p.claudeEnv(m), "CLAUDE_CODE_ENTRYPOINT=sdk-ts")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &sdkSession{in: in, done: make(chan struct{})}
	go s.readLines(out)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.done
		_ = cmd.Wait()
	})
	s.send(t, `{"type":"control_request","request_id":"first","request":{"subtype":"initialize"}}`)
	s.send(t, `{"type":"user","message":{"role":"user","content":"Go"}}`)
	return s
}

func (s *sdkSession) readLines(out io.Reader) {
	defer close(s.done)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
	}
}

func (s *sdkSession) send(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(t, err)
}

// countLines counts the lines with that type and request subtype.
func (s *sdkSession) countLines(kind, subtype string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		var l struct {
			Type    string
			Request struct{ Subtype string }
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == kind && l.Request.Subtype == subtype {
			n++
		}
	}
	return n
}

// finish waits for the result, closes stdin and waits for the end of the output.
func (s *sdkSession) finish(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.countLines("result", "") == 1 }, waitLimit, pollInterval)
	require.NoError(t, s.in.Close())
	<-s.done
}

const twoQuestions = `{"questions":[
 {"question":"Which database?","header":"Database","multiSelect":false,"options":[{"label":"SQLite","description":"One file"},{"label":"Postgres","description":"A server"}]},
 {"question":"Which extras?","header":"Extras","multiSelect":true,"options":[{"label":"Migrations","description":"Versioned"},{"label":"Seeds","description":"Rows"}]}]}`

// The model asks its user, and a person answers on the page. The host was asked too, and
// its request is canceled.
func TestClaudeSDK_AnswersQuestions(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, turn{tool: "AskUserQuestion", input: twoQuestions})
	s := p.startSDK(t, m)
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.Len(t, asked.HumanInTheLoop.Questions, 2)
	require.Eventually(t, func() bool { return s.countLines("control_request", "can_use_tool") == 1 }, waitLimit, pollInterval)
	p.answer(t, asked, schema.Response{Answers: map[string]json.RawMessage{"1": []byte(`"DuckDB, please"`), "2": []byte(`["Migrations","Seeds"]`)}})
	s.finish(t)
	require.Contains(t, m.toolResults(), `DuckDB, please`)
	require.Contains(t, m.toolResults(), `Migrations, Seeds`)
	require.Equal(t, 1, s.countLines("control_cancel_request", ""))
}

// The host answers first. Like at the dialog, no hook reports its approval, so the hub closes
// the question when the call has run.
func TestClaudeSDK_HostAnswersFirst(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, bashCall("yes.txt"))
	s := p.startSDK(t, m)
	asked := p.waitForQuestion(t, "PermissionRequest")
	request := s.request(t, "can_use_tool")
	s.send(t, `{"type":"control_response","response":{"subtype":"success","request_id":"`+request+`","response":{"behavior":"allow","updatedInput":`+bashCall("yes.txt").input+`}}}`)
	end := p.waitForSettled(t, asked.ID)
	s.finish(t)
	require.True(t, p.hasFile("yes.txt"))
	require.Equal(t, schema.Cancelled, end.Outcome)
	require.Equal(t, schema.ByAgent, end.Source)
}

// request waits for a request with that subtype and returns its id.
func (s *sdkSession) request(t *testing.T, subtype string) (id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, line := range s.lines {
			var l struct {
				ID      string `json:"request_id"`
				Request struct{ Subtype string }
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Request.Subtype == subtype {
				id = l.ID
			}
		}
		return id != ""
	}, waitLimit, pollInterval)
	return id
}
