package traces

import (
	"cmp"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Limits of one turn. Spans beyond them are counted on the turn's first span.
const (
	maxSpans       = 2000
	maxTurnContent = 1 << 20 // bytes of arguments and prompts
)

// turn is the work of an agent from a prompt to its end, as spans.
type turn struct {
	key     store.SessionKey
	trace   string
	first   int64 // log position of its first event
	lastMS  int64 // time of its newest event
	stopped bool  // ends once its questions have ended
	// byQuestion is set if a question opened it: it ends with its last wait and call.
	byQuestion bool
	content    int // bytes of arguments and prompts; negative: none are sent
	dropped    int64

	spans  []*span // spans[0] is the agent's
	agents map[string]*span
	calls  []*call
	waits  map[schema.EventID]*wait
}

// call is a tool call that has not ended.
type call struct {
	*span
	useID, agent, tool string
	input              uint64
}

// wait is an open question.
type wait struct {
	*span
	call *call // the call that it is about; nil: none
}

func newTurn(key store.SessionKey, seq int64, f *facts, withContent bool) *turn {
	t := &turn{
		key: key, trace: traceID(f.uid), first: seq, agents: map[string]*span{}, waits: map[schema.EventID]*wait{},
		byQuestion: f.HasQuestion && f.Kind != digest.ToolStart, content: -1,
	}
	if withContent {
		t.content = 0
	}
	name := cmp.Or(f.codingAgent, key.App)
	root := t.add(agentSpan, f, "invoke_agent", name)
	root.setText("gen_ai.agent.name", name)
	t.agents[""] = root
	return t
}

// add adds a span that begins with the event.
func (t *turn) add(kind string, f *facts, operation, name string) *span {
	s := &span{
		TraceID: t.trace, SpanID: spanID(kind, f.uid), Kind: internalKind, Name: cut(operation+" "+name, maxText),
	}
	s.setStart(f.At)
	s.setText("gen_ai.operation.name", operation)
	s.setText("gen_ai.conversation.id", t.key.Session)
	s.setText("hookback.source_app", t.key.App)
	s.setInt("hookback.event.id", int64(f.ID))
	if len(t.spans) >= maxSpans {
		t.dropped++
	} else {
		t.spans = append(t.spans, s)
	}
	return s
}

// apply adds an event to the turn.
func (t *turn) apply(f *facts) {
	t.lastMS = max(t.lastMS, f.At)
	agent := t.agentOf(f)
	if f.Model != "" {
		agent.setText("gen_ai.request.model", f.Model)
		agent.setText("gen_ai.provider.name", provider(f.Model))
	}
	switch f.Kind {
	case digest.Prompt:
		if f.prompt != "" {
			t.setContent(agent, "gen_ai.input.messages", promptMessages(f.prompt))
		}
	case digest.ToolStart:
		t.startCall(f, agent)
	case digest.ToolEnd:
		t.endCall(f)
	case digest.AgentEnd:
		if f.Agent != "" {
			agent.finish(f.At)
		}
	}
	if f.refusesCall {
		if c := t.findCall(f); c != nil {
			t.closeCall(c, f.At, "refused")
		}
	}
	if f.HasQuestion && !f.AsksLater {
		t.startWait(f, agent)
	}
	if f.endsTurn && f.Failed {
		agent.fail("agent_error")
		t.setContent(agent, "exception.message", f.Error)
	}
	t.stopped = t.stopped || f.endsTurn
}

// agentOf returns the span of the agent that sent the event. A subagent's span is within that of its
// parent.
func (t *turn) agentOf(f *facts) *span {
	if s := t.agents[f.Agent]; s != nil {
		return s
	}
	if len(t.agents) >= maxSpans {
		return t.agents[""]
	}
	parent := t.agents[f.ParentAgent]
	if parent == nil {
		parent = t.agents[""]
	}
	name := cmp.Or(f.AgentType, "subagent")
	s := t.add(agentSpan, f, "invoke_agent", name)
	s.Parent = parent.SpanID
	s.setText("gen_ai.agent.name", name)
	s.setText("gen_ai.agent.id", f.Agent)
	t.agents[f.Agent] = s
	return s
}

func (t *turn) startCall(f *facts, agent *span) *call {
	if f.UseID != "" {
		switch c := t.findCall(f); {
		case c == nil:
		case c.useID == f.UseID && c.input != f.InputHash: // some models use the same ids in each turn
			t.closeCall(c, f.At, "unknown")
		default:
			return c // the same start again
		}
	}
	tool := cmp.Or(f.Tool, "unknown")
	s := t.add(toolSpan, f, "execute_tool", tool)
	s.Parent = agent.SpanID
	s.setText("gen_ai.tool.name", tool)
	s.setText("gen_ai.tool.type", "function")
	s.setText("gen_ai.tool.call.id", f.UseID)
	t.setContent(s, "gen_ai.tool.call.arguments", f.arguments)
	c := &call{span: s, useID: f.UseID, agent: f.Agent, tool: f.Tool, input: f.InputHash}
	t.calls = append(t.calls, c)
	if len(t.calls) > maxSpans {
		t.calls = t.calls[1:]
	}
	return c
}

// findCall returns the open call that an event is about: by its id, otherwise the oldest of the same
// agent, tool and arguments.
func (t *turn) findCall(f *facts) *call {
	for _, c := range t.calls {
		if f.UseID != "" && c.useID == f.UseID {
			return c
		}
	}
	var similar *call
	for _, c := range t.calls {
		if c.tool != f.Tool || c.agent != f.Agent || f.UseID != "" && c.useID != "" {
			continue
		}
		if f.InputHash != 0 && c.input == f.InputHash {
			return c
		}
		if similar == nil && (f.InputHash == 0 || c.input == 0) {
			similar = c
		}
	}
	return similar
}

func (t *turn) endCall(f *facts) {
	c := t.findCall(f)
	if c == nil {
		return // its start is not in this turn
	}
	if f.Failed {
		c.fail("tool_error")
		t.setContent(c.span, "exception.message", f.Error)
	}
	outcome := "ran"
	switch {
	case f.Failed:
		outcome = "failed"
	case f.Interrupted:
		outcome = "interrupted"
	}
	t.closeCall(c, f.At, outcome)
}

func (t *turn) closeCall(c *call, ms int64, outcome string) {
	c.setText("hookback.tool.outcome", outcome)
	c.finish(ms)
	t.calls = slices.DeleteFunc(t.calls, func(other *call) bool { return other == c })
}

func (t *turn) startWait(f *facts, agent *span) {
	var c *call
	if f.AsksPermission && f.Tool != "" {
		if c = t.findCall(f); c == nil {
			c = t.startCall(f, agent)
		}
	}
	s := t.add(waitSpan, f, "hookback.wait_for_human", "")
	s.Name = "hookback.wait_for_human"
	s.Parent = agent.SpanID
	s.Attributes = s.Attributes[1:] // no operation of the conventions
	if c != nil {
		s.Parent = c.SpanID
	}
	t.waits[f.ID] = &wait{span: s, call: c}
}

// endWait ends a question. It reports whether the question is of this turn.
func (t *turn) endWait(question schema.EventID, st *schema.Status) bool {
	w := t.waits[question]
	if w == nil {
		return false
	}
	delete(t.waits, question)
	at := int64(st.RespondedAt)
	at = cmp.Or(at, t.lastMS)
	t.lastMS = max(t.lastMS, at)
	w.setText("hookback.outcome", string(st.Outcome))
	w.setText("hookback.resolved_by", string(st.Source))
	if st.RespondedBy != nil {
		w.setText("hookback.responder.name", st.RespondedBy.Name)
		w.setBool("hookback.responder.verified", st.RespondedBy.Verified)
	}
	w.finish(at)
	if w.call != nil && st.Response != nil && st.Response.Permission != nil && !*st.Response.Permission {
		t.closeCall(w.call, at, "denied")
	}
	return true
}

// isOver reports whether nothing more is expected.
func (t *turn) isOver() bool {
	return len(t.waits) == 0 && (t.stopped || t.byQuestion && len(t.calls) == 0)
}

// close ends everything that is open and returns the spans.
func (t *turn) close() []span {
	for _, w := range t.waits {
		w.setText("hookback.outcome", "unanswered")
		w.finish(t.lastMS)
	}
	for _, c := range t.calls {
		c.setText("hookback.tool.outcome", "unknown")
		c.finish(t.lastMS)
	}
	if t.dropped > 0 {
		t.spans[0].setInt("hookback.dropped_spans", t.dropped)
	}
	spans := make([]span, len(t.spans))
	for i, s := range t.spans {
		s.finish(t.lastMS)
		spans[i] = *s
	}
	return spans
}

// setContent sets an attribute with text of the agent or of a person, if the operator allows content.
func (t *turn) setContent(s *span, key, text string) {
	if t.content < 0 || text == "" || t.content+len(text) > maxTurnContent {
		return
	}
	text = cut(text, maxContent)
	t.content += len(text)
	s.setLimited(key, text, maxContent+len("…"))
}
