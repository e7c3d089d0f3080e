package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// errOtherRoute refuses everything but the session of a link.
var errOtherRoute = &schema.FieldError{Field: control.ShareHeader, Detail: "opens its own session and nothing else", Cause: schema.ErrForbidden}

// reducers are the routes that a share link opens. Each checks a response and leaves out what the link does
// not show.
var reducers = map[string]func(body []byte, link *store.Share) ([]byte, error){
	control.PathShared:       unchanged,
	history.PathSessionFiles: unchanged,
	schema.PathSession:       reduceSession,
	schema.PathEvents:        reduceEvents,
	schema.PathEvent:         reduceEvent,
}

func unchanged(body []byte, _ *store.Share) ([]byte, error) { return body, nil }

// members is a JSON object.
type members = map[string]json.RawMessage

// names returns the set of the words of a text.
func names(text string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(text) {
		set[name] = true
	}
	return set
}

// The members that a link shows. Others, also unknown ones, are left out: names of people other than
// responders, accounts, processes, notifications, votes, secrets and files on the agent's machine.
var (
	shownOfEvent = names(`id uid timestamp source_app session_id hook_event_type payload payloadTruncated payloadBytes payloadSanitized
		summary model_name agent tool_name tool_use_id agent_id agent_type error is_interrupt notification_type source reason
		humanInTheLoop humanInTheLoopStatus questionTruncated`)
	shownOfQuestion = names(`question type choices allowOther timeout requiresResponse appeal toolCall questions context risk agentPath requiredApprovals`)
	shownOfStatus   = names(`status respondedAt response outcome source reason respondedBy expiresAt requiredApprovals execution test probe risk
		class findings intent edited`)
	shownOfAnswer    = names(`permission response choice answers reason comment modifiedArguments askBack interrupt respondedAt outcome source`)
	shownOfResponder = names(`name`)
)

// keep removes the members that are not shown.
func keep(object members, shown map[string]bool) {
	for name := range object {
		if !shown[name] {
			delete(object, name)
		}
	}
}

// keepIn does the same in a member that is an object.
func keepIn(object members, name string, shown map[string]bool, then func(members) error) error {
	if object[name] == nil {
		return nil
	}
	var inner members
	if err := json.Unmarshal(object[name], &inner); err != nil {
		return fmt.Errorf("read %s of a shared event: %w", name, err)
	}
	keep(inner, shown)
	if then != nil {
		if err := then(inner); err != nil {
			return err
		}
	}
	text, err := json.Marshal(inner)
	object[name] = text
	return err
}

// show reduces an event. It fails if the event is of another session.
func show(event members, link *store.Share) error {
	var key struct{ App, Session string }
	if json.Unmarshal(event["source_app"], &key.App) != nil || json.Unmarshal(event["session_id"], &key.Session) != nil ||
		key.App != link.Session.App || key.Session != link.Session.Session {
		return errOtherRoute
	}
	chat := event["chat"]
	keep(event, shownOfEvent)
	if link.Transcript && chat != nil {
		event["chat"] = chat
	}
	if err := keepIn(event, "humanInTheLoop", shownOfQuestion, nil); err != nil {
		return err
	}
	return keepIn(event, "humanInTheLoopStatus", shownOfStatus, func(status members) error {
		if err := keepIn(status, "respondedBy", shownOfResponder, nil); err != nil {
			return err
		}
		return keepIn(status, "response", shownOfAnswer, nil)
	})
}

func reduceEvent(body []byte, link *store.Share) ([]byte, error) {
	var event members
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, fmt.Errorf("read a shared event: %w", err)
	}
	if err := show(event, link); err != nil {
		return nil, err
	}
	return json.Marshal(event)
}

func reduceEvents(body []byte, link *store.Share) ([]byte, error) {
	var list []members
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read shared events: %w", err)
	}
	for _, event := range list {
		if err := show(event, link); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list)
}

func reduceSession(body []byte, link *store.Share) ([]byte, error) {
	var detail history.SessionDetail
	if err := json.Unmarshal(body, &detail); err != nil {
		return nil, fmt.Errorf("read a shared session: %w", err)
	}
	session := &detail.Session
	session.Person, session.PersonSource, session.ParentSessionID = "", "", ""
	if !link.Transcript {
		session.Transcript = 0
	}
	return json.Marshal(detail)
}
