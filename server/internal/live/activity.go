package live

import (
	"cmp"
	"maps"
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
	BucketMS = 10_000 // the length of the intervals in which events are counted
	Buckets  = 60     // the number of intervals: ten minutes

	maxCalls = 16 // open calls per session, the newest
	maxWaits = 64 // ended waits per session, the newest
	// failedRun is the number of failed calls in a row from which a session is failing.
	failedRun = 3
	// maxAgents limits the agents of a session whose repeated calls are counted. Beyond it, the one whose last call
	// is the oldest is forgotten.
	maxAgents = 64
	// repeatsMS is how long the calls of an agent count while none runs. One that was killed reports no end.
	repeatsMS = 600_000
	// maxText limits the text of a step, in characters.
	maxText = 241
)

// Activity is what the last minutes of the log say about a session.
type Activity struct {
	Last   history.NowEvent
	LastAt int64 // Unix ms of the last sign of life; telemetry is one, too
	InTurn bool  // it works on a prompt
	Phase  history.TurnPhase
	Waits  []history.NowWait

	calls  []openCall     // that have no end, oldest first
	failed int            // failed calls in a row
	asked  schema.EventID // the question about its last permission request; 0: none

	counts [Buckets]int64 // by bucket number modulo Buckets
	newest int64          // number of the newest bucket

	results []bool              // whether the last calls failed, the newest last; at most control.MaxAlertCalls
	repeats map[string]*repeats // by agent: subagents run at the same time
}

// repeats are the repeated calls of an agent.
type repeats struct {
	digest.Repeats
	at int64 // Unix ms of its last call
}

// openCall is a tool call without an end.
type openCall struct {
	agent, tool, useID string
	input              uint64 // hash of the arguments
	step               history.NowStep
}

// Step returns the newest call that runs, or nil.
func (a *Activity) Step() *history.NowStep {
	if n := len(a.calls); n > 0 {
		return new(a.calls[n-1].step)
	}
	return nil
}

// IsFailing reports whether its last calls, or its last turn, failed.
func (a *Activity) IsFailing() bool { return a.failed >= failedRun }

// FailedOf returns how many of the last n calls failed; ok is false while there are fewer.
func (a *Activity) FailedOf(n int) (failed int, ok bool) {
	if len(a.results) < n {
		return 0, false
	}
	for _, f := range a.results[len(a.results)-n:] {
		if f {
			failed++
		}
	}
	return failed, true
}

// Repeats returns how many equal calls, and how many equal failures, an agent of the session made in a row: the
// highest numbers of its agents.
func (a *Activity) Repeats() (calls, failures int) {
	for agent, r := range a.repeats {
		if r.at > a.LastAt-repeatsMS || slices.ContainsFunc(a.calls, func(c openCall) bool { return c.agent == agent }) {
			calls, failures = max(calls, r.Equal), max(failures, r.Failures)
		}
	}
	return calls, failures
}

// repeatsOf returns the repeated calls of the agent of a call.
func (a *Activity) repeatsOf(f *digest.EventFacts) *repeats {
	r := a.repeats[f.Agent]
	if r == nil {
		if len(a.repeats) >= maxAgents {
			delete(a.repeats, slices.MinFunc(slices.Collect(maps.Keys(a.repeats)), func(x, y string) int {
				return cmp.Compare(a.repeats[x].at, a.repeats[y].at)
			}))
		}
		if a.repeats == nil {
			a.repeats = map[string]*repeats{}
		}
		r = &repeats{}
		a.repeats[f.Agent] = r
	}
	r.at = f.At
	return r
}

// add adds a new event of the session.
func (a *Activity) add(e *store.Event, onFailure func(*digest.EventFacts, int)) {
	f := e.Facts(nil)
	if a.Last.ID == 0 && e.Type == "DecisionPoint" {
		a.Phase = history.PhaseNoTurn // a program that only asks, such as hookback ask, reports no work
	}
	a.Last = history.NowEvent{ID: e.ID, Type: e.Type, Tool: e.Tool, At: schema.Millis(f.At)}
	a.count(f.At)
	a.follow(e, f)
	switch f.Kind {
	case digest.ToolStart:
		a.InTurn = true
		a.repeatsOf(f).Step()
		a.start(e, f)
	case digest.ToolEnd:
		a.InTurn = true
		if r := a.repeatsOf(f); r.Add(f) {
			a.results = append(a.results[max(0, len(a.results)-control.MaxAlertCalls+1):], f.Failed)
			if f.Failed && onFailure != nil {
				onFailure(f, r.Failures)
			}
		}
		a.end(f)
		if a.failed++; !f.Failed {
			a.failed = 0
		}
	case digest.Prompt:
		a.InTurn, a.calls, a.failed = true, nil, 0
		for _, r := range a.repeats {
			r.Step()
		}
	case digest.SessionEnd:
		a.InTurn, a.calls, a.failed, a.results, a.repeats = false, nil, 0, nil, nil
	default:
		if f.Failed {
			a.failed = failedRun
		}
		if strings.EqualFold(e.Type, "Stop") || strings.EqualFold(e.Type, "StopFailure") { // the turn is over
			a.InTurn, a.calls = false, nil
		}
		if f.Kind == digest.AgentEnd && f.Agent != "" {
			delete(a.repeats, f.Agent)
		}
	}
}

// count counts an event in its bucket.
func (a *Activity) count(at int64) {
	n := at / BucketMS
	if n <= a.newest-Buckets {
		return
	}
	for b := max(a.newest+1, n-Buckets+1); b <= n; b++ {
		a.counts[b%Buckets] = 0
	}
	a.newest = max(a.newest, n)
	a.counts[n%Buckets]++
}

// start adds a tool call. An agent may report a call twice.
func (a *Activity) start(e *store.Event, f *digest.EventFacts) {
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
func (a *Activity) end(f *digest.EventFacts) {
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
func (a *Activity) addWait(from, to int64) {
	if to > from {
		a.Waits = append(a.Waits[max(0, len(a.Waits)-maxWaits+1):], history.NowWait{From: schema.Millis(from), To: schema.Millis(to)})
	}
}

// BucketsFrom returns the numbers of events of the buckets from the first one; nil if there are none.
func (a *Activity) BucketsFrom(first int64) []int64 {
	if a.newest < first {
		return nil
	}
	strip := make([]int64, Buckets)
	for n := max(first, a.newest-Buckets+1); n <= min(a.newest, first+Buckets-1); n++ {
		strip[n-first] = a.counts[n%Buckets]
	}
	return strip
}

// work are the kinds of events of an agent at work, and of one that is no more.
var work = []digest.Kind{digest.Prompt, digest.ToolStart, digest.ToolEnd, digest.AgentStart, digest.SessionEnd}

// follow updates the phase of the session's turn. turnPhase of the dashboard follows the same events.
func (a *Activity) follow(e *store.Event, f *digest.EventFacts) {
	typ := strings.ToLower(e.Type)
	switch {
	case slices.Contains(work, f.Kind):
		a.Phase, a.asked = "", 0
	case (typ == "stop" || typ == "stopfailure" || typ == "interrupt") && f.Agent == "":
		a.Phase, a.asked = history.PhaseTurnEnded, 0
	case typ == "sessionstart" && eventText(e, "source") != "compact": // which happens within a turn
		a.Phase, a.asked = history.PhaseNoTurn, 0
	case typ == "permissionrequest" || typ == "elicitation":
		a.Phase, a.asked = history.PhaseTerminal, 0
		if e.Question != nil {
			a.Phase, a.asked = "", e.ID // its prompt may be open, too
		} else if v := verdict(e); v == control.VerdictAllow || v == control.VerdictDeny {
			a.Phase = ""
		}
	case typ == "notification":
		switch kind := strings.ToLower(cmp.Or(eventText(e, "notification_type"), eventText(e, "message"))); {
		case strings.Contains(kind, "idle"), strings.Contains(kind, "waiting for your input"):
			a.Phase = history.PhaseTurnEnded
		case a.asked == 0 && (strings.Contains(kind, "permission") || kind == "elicitation_dialog"):
			a.Phase = history.PhaseTerminal
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
