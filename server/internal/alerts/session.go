package alerts

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// session holds the facts of a session that rules need.
type session struct {
	lastAt int64                   // Unix ms of the last event
	inTurn bool                    // it works on a prompt
	open   map[schema.EventID]bool // pending questions

	calls    []bool // whether the last calls failed, the newest last; at most control.MaxAlertCalls
	last     call   // the newest call
	equal    int    // calls in a row that equal it
	failures int    // failures in a row that equal it
}

// call is what makes tool calls equal.
type call struct {
	agent, tool, err, useID string
	input                   uint64
}

// apply adds a row of the log.
func (s *session) apply(row *store.LogRow) {
	e := row.Event
	switch {
	case row.Change:
		delete(s.open, e.ID)
		s.lastAt = max(s.lastAt, endOf(e.Status)) // the agent works again from here
		return
	case e.Question != nil && !row.Ends:
		if s.open == nil {
			s.open = map[schema.EventID]bool{}
		}
		s.open[e.ID] = true
	}
	s.lastAt = max(s.lastAt, e.ReceivedAt.UnixMilli())
	switch kind := digest.KindOf(e.Type); {
	case kind == digest.SessionEnd:
		*s = session{lastAt: s.lastAt}
	case strings.EqualFold(e.Type, "Stop") || strings.EqualFold(e.Type, "StopFailure"):
		s.inTurn = false
	case kind == digest.Prompt || kind == digest.ToolStart:
		s.inTurn, s.last.useID = true, "" // some models use the same ids in each turn
	case kind == digest.ToolEnd:
		s.inTurn = true
		s.end(digest.Parse(&digest.Event{
			ID: e.ID, At: e.ReceivedAt.UnixMilli(), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool, Envelope: e.Envelope, Payload: e.Payload,
		}))
	}
}

// endOf returns when a question ended; 0 if its status does not have it.
func endOf(status []byte) int64 {
	var st schema.Status
	if json.Unmarshal(status, &st) != nil {
		return 0
	}
	return int64(cmp.Or(st.RespondedAt, st.ExpiresAt))
}

// end adds the end of a tool call. An agent may report it twice.
func (s *session) end(f *digest.EventFacts) {
	next := call{agent: f.Agent, tool: f.Tool, err: f.Error, useID: f.UseID, input: f.InputHash}
	if next.useID != "" && next.useID == s.last.useID {
		return
	}
	s.calls = append(s.calls[max(0, len(s.calls)-control.MaxAlertCalls+1):], f.Failed)
	sameCall := next.input != 0 && next.agent == s.last.agent && next.tool == s.last.tool && next.input == s.last.input
	if s.equal++; !sameCall {
		s.equal = 1
	}
	switch {
	case !f.Failed:
		s.failures = 0
	case sameCall && s.failures > 0 && next.err == s.last.err:
		s.failures++
	default:
		s.failures = 1
	}
	s.last = next
}

// failed returns how many of the last n calls failed; ok is false while there are fewer.
func (s *session) failed(n int) (failed int, ok bool) {
	if len(s.calls) < n {
		return 0, false
	}
	for _, f := range s.calls[len(s.calls)-n:] {
		if f {
			failed++
		}
	}
	return failed, true
}

// scope is the subject of an alert; a rule has one open alert for each.
type scope struct {
	rule                 int64
	app, session, person string
}

func scopeOf(a *control.Alert) scope { return scope{a.Rule, a.SourceApp, a.SessionID, a.Person} }
