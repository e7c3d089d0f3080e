package now

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	bucketMS = 10_000
	buckets  = 60 // ten minutes
	stripMS  = buckets * bucketMS

	maxCalls = 16 // open calls per session, the newest
	maxWaits = 64 // ended waits per session, the newest
	// failedRun is the number of failed calls in a row from which a session is failing.
	failedRun = 3
	// maxText limits the text of a step, in characters.
	maxText = 241
)

// activity is what the last minutes of the log say about a session.
type activity struct {
	last   history.NowEvent
	calls  []openCall // that have no end, oldest first
	failed int        // failed calls in a row
	phase  history.TurnPhase
	asked  schema.EventID // the question about its last permission request; 0: none

	counts [buckets]int64 // by bucket number modulo buckets
	newest int64          // number of the newest bucket
	waits  []history.NowWait
}

// openCall is a tool call without an end.
type openCall struct {
	agent, tool, useID string
	input              uint64 // hash of the arguments
	step               history.NowStep
}

// add adds a new event of the session.
func (a *activity) add(e *store.Event) {
	f := e.Facts(nil)
	if a.last.ID == 0 && e.Type == "DecisionPoint" {
		a.phase = history.PhaseNoTurn // a program that only asks, such as hookback ask, reports no work
	}
	a.last = history.NowEvent{ID: e.ID, Type: e.Type, Tool: e.Tool, At: schema.Millis(f.At)}
	a.count(f.At)
	a.follow(e, f)
	switch f.Kind {
	case digest.ToolStart:
		a.start(e, f)
	case digest.ToolEnd:
		a.end(f)
		if a.failed++; !f.Failed {
			a.failed = 0
		}
	case digest.Prompt, digest.SessionEnd:
		a.calls, a.failed = nil, 0
	default:
		if f.Failed {
			a.failed = failedRun
		}
		if strings.EqualFold(e.Type, "Stop") || strings.EqualFold(e.Type, "StopFailure") { // the turn is over
			a.calls = nil
		}
	}
}

// count counts an event in its bucket.
func (a *activity) count(at int64) {
	n := at / bucketMS
	if n <= a.newest-buckets {
		return
	}
	for b := max(a.newest+1, n-buckets+1); b <= n; b++ {
		a.counts[b%buckets] = 0
	}
	a.newest = max(a.newest, n)
	a.counts[n%buckets]++
}

// start adds a tool call. An agent may report a call twice.
func (a *activity) start(e *store.Event, f *digest.EventFacts) {
	if f.UseID != "" {
		sameID := func(c openCall) bool { return c.useID == f.UseID && c.agent == f.Agent }
		if i := slices.IndexFunc(a.calls, sameID); i >= 0 && a.calls[i].input == f.InputHash {
			return
		}
		a.calls = slices.DeleteFunc(a.calls, sameID) // some models use the same ids in each turn
	}
	in := intent.Of(f.Tool, digest.FindMember(e.Payload, "tool_input"), f.Cwd)
	a.calls = append(a.calls[max(0, len(a.calls)-maxCalls+1):], openCall{
		agent: f.Agent, tool: f.Tool, useID: f.UseID, input: f.InputHash,
		step: history.NowStep{Text: schema.Shorten(intent.String(&in), maxText), Since: schema.Millis(f.At), ToolUseID: f.UseID},
	})
}

// end removes the call that ended or will not run: the one with its id, or the oldest of the tool.
func (a *activity) end(f *digest.EventFacts) {
	i := slices.IndexFunc(a.calls, func(c openCall) bool { return f.UseID != "" && c.useID == f.UseID })
	if i < 0 {
		i = slices.IndexFunc(a.calls, func(c openCall) bool {
			return c.tool == f.Tool && c.agent == f.Agent && (c.useID == "" || f.UseID == "")
		})
	}
	if i >= 0 {
		a.calls = slices.Delete(a.calls, i, i+1)
	}
}

// addWait adds an ended wait for a person.
func (a *activity) addWait(from, to int64) {
	if to > from {
		a.waits = append(a.waits[max(0, len(a.waits)-maxWaits+1):], history.NowWait{From: schema.Millis(from), To: schema.Millis(to)})
	}
}

// bucketsFrom returns the numbers of events of the buckets from the first one; nil if there are none.
func (a *activity) bucketsFrom(first int64) []int64 {
	if a.newest < first {
		return nil
	}
	strip := make([]int64, buckets)
	for n := max(first, a.newest-buckets+1); n <= min(a.newest, first+buckets-1); n++ {
		strip[n-first] = a.counts[n%buckets]
	}
	return strip
}

// mergeWaits returns the union of the intervals after from. To is 0 for one that has not ended.
func mergeWaits(waits []history.NowWait, from int64) []history.NowWait {
	slices.SortFunc(waits, func(a, b history.NowWait) int { return cmp.Compare(a.From, b.From) })
	var union []history.NowWait
	for _, w := range waits {
		if w.To != 0 && int64(w.To) <= from {
			continue
		}
		w.From = max(w.From, schema.Millis(from))
		last := len(union) - 1
		if last < 0 || union[last].To != 0 && union[last].To < w.From {
			union = append(union, w)
		} else if union[last].To != 0 && (w.To == 0 || w.To > union[last].To) {
			union[last].To = w.To
		}
	}
	return union
}

// work are the kinds of events of an agent at work, and of one that is no more.
var work = []digest.Kind{digest.Prompt, digest.ToolStart, digest.ToolEnd, digest.AgentStart, digest.SessionEnd}

// follow updates the phase of the session's turn. turnPhase of the dashboard follows the same events.
func (a *activity) follow(e *store.Event, f *digest.EventFacts) {
	typ := strings.ToLower(e.Type)
	switch {
	case slices.Contains(work, f.Kind):
		a.phase, a.asked = "", 0
	case (typ == "stop" || typ == "stopfailure" || typ == "interrupt") && f.Agent == "":
		a.phase, a.asked = history.PhaseTurnEnded, 0
	case typ == "sessionstart" && eventText(e, "source") != "compact": // which happens within a turn
		a.phase, a.asked = history.PhaseNoTurn, 0
	case typ == "permissionrequest" || typ == "elicitation":
		a.phase, a.asked = history.PhaseTerminal, 0
		if e.Question != nil {
			a.phase, a.asked = "", e.ID // its prompt may be open, too
		} else if v := verdict(e); v == control.VerdictAllow || v == control.VerdictDeny {
			a.phase = ""
		}
	case typ == "notification":
		switch kind := strings.ToLower(cmp.Or(eventText(e, "notification_type"), eventText(e, "message"))); {
		case strings.Contains(kind, "idle"), strings.Contains(kind, "waiting for your input"):
			a.phase = history.PhaseTurnEnded
		case a.asked == 0 && (strings.Contains(kind, "permission") || kind == "elicitation_dialog"):
			a.phase = history.PhaseTerminal
		}
	}
}

// eventText returns a text member of the event or its payload, or "".
func eventText(e *store.Event, member string) string {
	inPayload := digest.StringValue(digest.FindMember(e.Payload, member))
	return cmp.Or(inPayload, digest.StringValue(digest.FindMember(e.EnvelopeObject(), member)))
}

// verdict returns the verdict of the hook without a person, or "".
func verdict(e *store.Event) string {
	return digest.StringValue(digest.FindMember(digest.FindMember(e.EnvelopeObject(), control.HookMember), "verdict"))
}
