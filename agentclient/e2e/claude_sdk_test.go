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

// sdk is Claude Code as its SDKs run it: the host is asked for permission over stdio,
// beside the hook.
type sdk struct {
	in   io.WriteCloser
	done chan struct{} // closed when it has written its last line

	mu    sync.Mutex
	lines []string
}

func (p *place) sdk(t *testing.T, m *model) *sdk {
	t.Helper()
	cmd := exec.CommandContext(p.ctx, claudeProgram(t), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio")
	cmd.Dir, cmd.Env = p.project, append(p.claudeEnv(m), "CLAUDE_CODE_ENTRYPOINT=sdk-ts")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &sdk{in: in, done: make(chan struct{})}
	go s.read(out)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.done
		_ = cmd.Wait()
	})
	s.say(t, `{"type":"control_request","request_id":"first","request":{"subtype":"initialize"}}`)
	s.say(t, `{"type":"user","message":{"role":"user","content":"Go"}}`)
	return s
}

func (s *sdk) read(out io.Reader) {
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

func (s *sdk) say(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(t, err)
}

// wrote counts the lines of a type, and of a subtype of requests.
func (s *sdk) wrote(kind, subtype string) (n int) {
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

// ends closes stdin and waits for the end.
func (s *sdk) ends(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.wrote("result", "") == 1 }, patience, tick)
	require.NoError(t, s.in.Close())
	<-s.done
}

const twoQuestions = `{"questions":[
 {"question":"Which database?","header":"Database","multiSelect":false,"options":[{"label":"SQLite","description":"One file"},{"label":"Postgres","description":"A server"}]},
 {"question":"Which extras?","header":"Extras","multiSelect":true,"options":[{"label":"Migrations","description":"Versioned"},{"label":"Seeds","description":"Rows"}]}]}`

// The model asks its user; a person answers on the page. The host was asked too, and
// is told that it need not answer any more.
func TestClaudeAsksQuestions(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.install(t, "claude-code")
	m := newModel(t, turn{tool: "AskUserQuestion", input: twoQuestions})
	s := p.sdk(t, m)
	asked := p.question(t, "PermissionRequest")
	require.Len(t, asked.HumanInTheLoop.Questions, 2)
	require.Eventually(t, func() bool { return s.wrote("control_request", "can_use_tool") == 1 }, patience, tick)
	p.answer(t, asked, schema.Response{Answers: map[string]json.RawMessage{"1": []byte(`"DuckDB, please"`), "2": []byte(`["Migrations","Seeds"]`)}})
	s.ends(t)
	require.Contains(t, m.told(), `DuckDB, please`)
	require.Contains(t, m.told(), `Migrations, Seeds`)
	require.Equal(t, 1, s.wrote("control_cancel_request", ""))
}

// The host answers first. Its yes is told to nobody, like one at the dialog; the call
// that ran closes the card.
func TestClaudesHostAnswersFirst(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.install(t, "claude-code")
	m := newModel(t, bash("yes.txt"))
	s := p.sdk(t, m)
	asked := p.question(t, "PermissionRequest")
	request := s.request(t, "can_use_tool")
	s.say(t, `{"type":"control_response","response":{"subtype":"success","request_id":"`+request+`","response":{"behavior":"allow","updatedInput":`+bash("yes.txt").input+`}}}`)
	end := p.settled(t, asked.ID)
	s.ends(t)
	require.True(t, p.has("yes.txt"))
	require.Equal(t, schema.Cancelled, end.Outcome)
	require.Equal(t, schema.ByAgent, end.Source)
}

// request waits for a request of a subtype and returns its id.
func (s *sdk) request(t *testing.T, subtype string) (id string) {
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
	}, patience, tick)
	return id
}
