package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// doomed is the argument with which the demo starts itself as the agent that dies.
const doomed = "doomed"

// part is a role: an agent in a project, and what it does there.
type part struct {
	app, model string
	coder      string // the coding agent it is, as in agentclient/hook; "": none of these
	steps      []step
}

// step is one thing an agent does. Its error ends the session.
type step func(ctx context.Context, a *agent) error

// agent is one session of a part.
type agent struct {
	*stage
	part    part
	client  *agentclient.Client
	session string
	cwd     string
	sub     *subagent // nil for the root agent
	said    *transcript
}

type subagent struct{ id, kind string }

func newAgent(s *stage, p part) *agent {
	session := uuid()
	return &agent{
		stage: s, part: p, session: session, cwd: "/home/dev/" + p.app, said: &transcript{model: p.model},
		client: agentclient.New(agentclient.Options{Hubs: []string{s.hub}, SourceApp: p.app, SessionID: session}),
	}
}

// uuid is a random UUID, as coding agents name their sessions.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *agent) say(format string, args ...any) {
	a.print(a.part.app, fmt.Sprintf(format, args...))
}

// think takes the time that a model or a command would, more or less.
func (a *agent) think(ctx context.Context, d time.Duration) error {
	return a.pause(ctx, time.Duration((0.6+0.8*mathrand.Float64())*float64(d)))
}

// hook makes the event that the agent's hook of that name would send: what the
// agent says of itself, with members on top.
func (a *agent) hook(name string, members map[string]any) (schema.Event, error) {
	payload := map[string]any{
		"session_id":      a.session,
		"transcript_path": "/home/dev/.claude/projects/-home-dev-" + a.part.app + "/" + a.session + ".jsonl",
		"cwd":             a.cwd,
		"permission_mode": "default",
		"hook_event_name": name,
	}
	maps.Copy(payload, members)
	e := schema.Event{HookEventType: name, Agent: a.part.coder, ModelName: a.part.model, Timestamp: schema.Millis(time.Now().UnixMilli())}
	e.ToolName, _ = members["tool_name"].(string)
	e.ToolUseID, _ = members["tool_use_id"].(string)
	e.NotificationType, _ = members["notification_type"].(string)
	e.Source, _ = members["source"].(string)
	e.Reason, _ = members["reason"].(string)
	e.Error, _ = members["error"].(string)
	if a.sub != nil {
		e.AgentID, e.AgentType = a.sub.id, a.sub.kind
		payload["agent_id"], payload["agent_type"] = a.sub.id, a.sub.kind
	}
	var err error
	e.Payload, err = json.Marshal(payload)
	return e, err
}

// tell sends the event of a hook.
func (a *agent) tell(ctx context.Context, name, summary string, members map[string]any) error {
	e, err := a.hook(name, members)
	if err != nil {
		return err
	}
	e.Summary = summary
	return a.send(ctx, e)
}

func (a *agent) send(ctx context.Context, e schema.Event) error {
	if _, err := a.client.Send(ctx, e); err != nil {
		return err
	}
	a.note(func(t *tally) { t.events++ })
	a.say("%s  %s", e.HookEventType, e.Summary)
	return nil
}

// ask puts a question to whoever is at the dashboard.
func (a *agent) ask(ctx context.Context, r agentclient.Request) (agentclient.Decision, error) {
	r.Timeout = max(a.scaled(r.Timeout), 2*time.Second)
	r.OnWaiting = func(w agentclient.WaitStatus) {
		a.note(func(t *tally) { t.asked++ })
		question, _, _ := strings.Cut(r.Question, "\n")
		a.say("asks: %s (%s)", question, w.Page)
	}
	d, err := a.client.Ask(ctx, r)
	if err != nil {
		return d, err
	}
	if d.Answered() {
		a.note(func(t *tally) { t.answered++ })
	} else {
		a.note(func(t *tally) { t.unanswered++ })
	}
	a.say("was told: %s", told(d))
	return d, nil
}

// told is a decision in a few words.
func told(d agentclient.Decision) string {
	text := string(d.Outcome)
	switch {
	case d.Outcome == schema.Timeout:
		text = "nothing, nobody answered in time"
	case d.Answers != nil:
		text = fmt.Sprint(d.Answers)
	case d.Text != "":
		text = d.Text
	case d.Edited:
		text += ", with changed arguments"
	}
	for _, more := range []string{d.Reason, d.Comment} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// playDoomed is the agent that dies: it asks, and is killed while it waits.
func (s *stage) playDoomed(ctx context.Context) int {
	a := newAgent(s, part{app: "night-build", model: "claude-sonnet-5"})
	defer a.client.Close()
	_, err := a.ask(ctx, agentclient.Request{
		Question: "The build server has been up for 400 days. May I restart it?",
		Risk:     schema.HighRisk,
		Timeout:  3 * time.Minute,
		Context:  &schema.Context{Why: "A kernel update waits for it.", Cwd: a.cwd},
	})
	if err != nil {
		return 1
	}
	return 0
}

// dies plays an agent in a process of its own and kills it: its question stays,
// its listener is gone, and an answer can't be delivered.
func dies(after time.Duration) step {
	return func(ctx context.Context, a *agent) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, a.scaled(after)+2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, self, "-hub", a.hub, "-speed", fmt.Sprint(a.speed), doomed)
		cmd.Stdout = a
		err = cmd.Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			return err // answered before its end, or never started
		}
		a.note(func(t *tally) { t.asked, t.unanswered = t.asked+1, t.unanswered+1 })
		a.say("was killed while it waited: in ten seconds the page says so; answer its question and see what becomes of it")
		return nil
	}
}

// Write prints what the doomed agent says.
func (a *agent) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Write(text)
}
