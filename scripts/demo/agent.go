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

// doomed is the argument with which the demo starts itself as the agent that crashes.
const doomed = "doomed"

// agent runs one session of a role.
type agent struct {
	*simulation
	role       role
	client     *agentclient.Client
	session    string
	cwd        string
	sub        *subagent // nil for the root agent
	transcript *transcript
	isEnded    bool // the end of the session was sent
}

type subagent struct{ id, kind, finding string }

func newAgent(s *simulation, p role, session string) *agent {
	return &agent{
		simulation: s, role: p, session: session, cwd: "/home/dev/" + p.App, transcript: &transcript{model: p.Model},
		// A demo does not read the hubs that this account trusts, and Unsigned does not add its own to them.
		client: agentclient.New(agentclient.Options{Hubs: []string{s.hub}, SourceApp: p.App, SessionID: session, Unsigned: true, KnownHubs: "/proc/nonexistent/known_hubs"}),
	}
}

// uuid returns a random UUID, the usual form of session ids.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *agent) log(format string, args ...any) {
	a.print(a.role.App, fmt.Sprintf(format, args...))
}

// simulateWork waits for d ±40 %, like a model or a command at work.
func (a *agent) simulateWork(ctx context.Context, d time.Duration) error {
	return a.pause(ctx, time.Duration((0.6+0.8*mathrand.Float64())*float64(d)))
}

// hookEvent returns the event that the agent's hook of that name would send. members are
// added to the payload.
func (a *agent) hookEvent(name string, members map[string]any) (schema.Event, error) {
	payload := map[string]any{
		"session_id":      a.session,
		"transcript_path": "/home/dev/.claude/projects/-home-dev-" + a.role.App + "/" + a.session + ".jsonl",
		"cwd":             a.cwd,
		"permission_mode": "default",
		"hook_event_name": name,
	}
	maps.Copy(payload, members)
	e := schema.Event{HookEventType: name, Agent: a.role.Agent, ModelName: a.role.Model, Timestamp: schema.Millis(time.Now().UnixMilli())}
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

// sendHook sends a hook event without a question.
func (a *agent) sendHook(ctx context.Context, name, summary string, members map[string]any) error {
	e, err := a.hookEvent(name, members)
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
	a.updateTally(func(t *tally) { t.events++ })
	a.log("%s  %s", e.HookEventType, e.Summary)
	return nil
}

// askPerson asks the people at the dashboard and waits for the answer.
func (a *agent) askPerson(ctx context.Context, r agentclient.Request) (agentclient.Decision, error) {
	r.Timeout = max(a.scale(r.Timeout), 2*time.Second)
	r.OnWaiting = func(w agentclient.WaitStatus) {
		a.updateTally(func(t *tally) { t.questions++ })
		question, _, _ := strings.Cut(r.Question, "\n")
		a.log("asks: %s (%s)", question, w.PageURL)
	}
	d, err := a.client.Ask(ctx, r)
	if err != nil {
		return d, err
	}
	if d.Answered() {
		a.updateTally(func(t *tally) { t.answered++ })
	} else {
		a.updateTally(func(t *tally) { t.unanswered++ })
	}
	a.log("received: %s", decisionLabel(d))
	return d, nil
}

// decisionLabel describes a decision briefly.
func decisionLabel(d agentclient.Decision) string {
	text := string(d.Outcome)
	switch {
	case d.Outcome == schema.Timeout:
		text = "no answer in time"
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

// endSession reports the end of the session, which closes its open questions.
func (a *agent) endSession(ctx context.Context, reason string) error {
	err := a.sendHook(ctx, "SessionEnd", reason, map[string]any{"reason": reason})
	a.isEnded = err == nil
	return err
}

// runDoomed asks the question of the step that crashes. crash kills it while it waits.
func (s *simulation) runDoomed(ctx context.Context, session string) int {
	for _, r := range s.roles {
		for _, step := range r.Steps {
			if step.Crash == 0 {
				continue
			}
			a := newAgent(s, role{App: r.App, Model: r.Model}, session)
			defer a.client.Close()
			if _, err := a.askPerson(ctx, request(*step.Ask, schema.Event{})); err != nil {
				return 1
			}
			return 0
		}
	}
	return 1
}

// crash runs an agent in a separate process and kills it. Its question remains, its
// listener is gone, and an answer cannot be delivered.
func (a *agent) crash(ctx context.Context, after time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.scale(after)+2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-hub", a.hub, "-speed", fmt.Sprint(a.speed), doomed, a.session)
	cmd.Stdout = a
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err // it was answered first, or did not start
	}
	a.updateTally(func(t *tally) { t.questions, t.unanswered = t.questions+1, t.unanswered+1 })
	a.log("was killed while it waited; the dashboard shows it within ten seconds. Answer its request and see the failed delivery")
	return nil
}

// Write prints the output of the doomed agent.
func (a *agent) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Write(text)
}
