package now

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

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
func eventText(e *store.Event, member string) (text string) {
	read := func(name string, value []byte) {
		if name == member {
			text = cmp.Or(text, digest.StringValue(value))
		}
	}
	digest.EachMember(e.Payload, read)
	digest.EachMember(append(append([]byte{'{'}, e.Envelope...), '}'), read)
	return text
}

// verdict returns the verdict of the hook without a person, or "".
func verdict(e *store.Event) (v string) {
	digest.EachMember(append(append([]byte{'{'}, e.Envelope...), '}'), func(name string, value []byte) {
		if name == control.HookMember {
			digest.EachMember(value, func(name string, value []byte) {
				if name == "verdict" {
					v = digest.StringValue(value)
				}
			})
		}
	})
	return v
}
