package delivery

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// buildFrame returns the message to the listener: the answer, joined with its seal and with the
// event it belongs to. Python listeners drop messages over 1 MiB. If the frame is too large, the
// event is reduced to the fields that agents match answers by.
func buildFrame(q *store.Question, attempt int) []byte {
	head := answerHead(q, attempt)
	limit := schema.MaxFrame
	if seal := q.Seal(); seal != nil {
		head, limit = append(append(head, `,"seal":`...), seal...), schema.MaxSealedFrame
	}
	fits := func(event []byte) bool { return len(head)+len(event)+64 <= limit }
	full := q.Event
	if q.Protocol < 2 {
		full.Question = withCallbackURL(full.Question, q.URL)
	}
	event := full.AppendJSON(nil, -1)
	if fits(event) {
		return finishFrame(head, event, false)
	}
	reduced := full
	reduced.Payload = matchingFields(q.Payload)
	if event = reduced.AppendJSON(nil, -1); !fits(event) {
		reduced.Envelope, reduced.Question = namesOnly(&q.Event), nil
		event = reduced.AppendJSON(nil, -1)
	}
	return finishFrame(head, event, true)
}

// withCallbackURL returns the question with its callback URL, which is stored separately. A
// version 1 agent may parse its own question with a model that requires the member.
func withCallbackURL(question []byte, url string) []byte {
	b, err := json.Marshal(url)
	if err != nil || len(question) < len(`{}`) {
		return question
	}
	out := append(make([]byte, 0, len(question)+len(b)+32), question[:len(question)-1]...)
	out = append(append(out, `,"responseWebSocketUrl":`...), b...)
	return append(out, '}')
}

// answerHead returns the stored answer without its closing brace.
func answerHead(q *store.Question, attempt int) []byte {
	b := bytes.TrimSpace(q.Answer)
	b = append(make([]byte, 0, len(b)+128), b[:len(b)-1]...)
	if q.Protocol < 2 {
		return b
	}
	if id := `"answerId":"` + q.Delivery.AnswerID + `"`; !bytes.Contains(b, []byte(id)) {
		b = append(append(b, ','), id...)
	}
	b = append(b, `,"attempt":`...)
	return strconv.AppendInt(b, int64(attempt), 10)
}

func finishFrame(head, event []byte, truncated bool) []byte {
	b := append(head, `,"hookEvent":`...)
	b = append(b, event...)
	if truncated {
		b = append(b, `,"hookEventTruncated":true`...)
	}
	return append(b, '}')
}

// matchingFields returns the payload members that version 1 agents match answers by.
func matchingFields(payload []byte) []byte {
	var fields struct {
		AgentName      json.RawMessage `json:"agent_name,omitempty"`
		PermissionType json.RawMessage `json:"permission_type,omitempty"`
	}
	const maxFieldBytes = 4 * schema.MaxName
	var members map[string]json.RawMessage // a struct would also take AGENT_NAME for agent_name
	if json.Unmarshal(payload, &members) != nil {
		return []byte("{}")
	}
	fields.AgentName, fields.PermissionType = members["agent_name"], members["permission_type"]
	if len(fields.AgentName) > maxFieldBytes {
		fields.AgentName = nil
	}
	if len(fields.PermissionType) > maxFieldBytes {
		fields.PermissionType = nil
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return []byte("{}")
	}
	return b
}

// namesOnly returns envelope members with the event's names only.
func namesOnly(e *store.Event) []byte {
	b, err := json.Marshal(struct {
		App     string `json:"source_app"`
		Session string `json:"session_id"`
		Type    string `json:"hook_event_type"`
		Tool    string `json:"tool_name,omitempty"`
	}{e.App, e.Session, e.Type, e.Tool})
	if err != nil {
		return nil
	}
	return b[1 : len(b)-1]
}
