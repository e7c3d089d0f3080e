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

	calls   []bool // whether the last calls failed, the newest last; at most control.MaxAlertCalls
	repeats digest.Repeats
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
		s.inTurn = true
		s.repeats.Step()
	case kind == digest.ToolEnd:
		s.inTurn = true
		s.end(e.Facts(nil))
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

// end adds the end of a tool call.
func (s *session) end(f *digest.EventFacts) {
	if s.repeats.Add(f) {
		s.calls = append(s.calls[max(0, len(s.calls)-control.MaxAlertCalls+1):], f.Failed)
	}
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
