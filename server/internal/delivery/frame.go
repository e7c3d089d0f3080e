package delivery

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// buildFrame is the message to the listener: the answer, spliced together with the
// event it is for. Python listeners drop what is over 1 MiB, so an event that makes
// the frame too big is cut down to what agents match answers by.
func buildFrame(q *store.Question, attempt int) []byte {
	head := answerHead(q, attempt)
	fits := func(event []byte) bool { return len(head)+len(event)+64 <= schema.MaxFrame }
	whole := q.Event
	if q.Protocol < 2 {
		whole.Question = addressed(whole.Question, q.URL)
	}
	event := whole.AppendJSON(nil, -1)
	if fits(event) {
		return finish(head, event, false)
	}
	slim := whole
	slim.Payload = matching(q.Payload)
	if event = slim.AppendJSON(nil, -1); !fits(event) {
		slim.Envelope, slim.Question = naming(&q.Event), nil
		event = slim.AppendJSON(nil, -1)
	}
	return finish(head, event, true)
}

// addressed is a question with the address that it is kept without: a version 1
// agent may read its own question back with a model that requires it.
func addressed(question []byte, url string) []byte {
	b, err := json.Marshal(url)
	if err != nil || len(question) < len(`{}`) {
		return question
	}
	out := append(make([]byte, 0, len(question)+len(b)+32), question[:len(question)-1]...)
	out = append(append(out, `,"responseWebSocketUrl":`...), b...)
	return append(out, '}')
}

// answerHead is the stored answer without its closing brace.
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

func finish(head, event []byte, truncated bool) []byte {
	b := append(head, `,"hookEvent":`...)
	b = append(b, event...)
	if truncated {
		b = append(b, `,"hookEventTruncated":true`...)
	}
	return append(b, '}')
}

// matching is the part of a payload that version 1 agents tell their answers apart by.
func matching(payload []byte) []byte {
	var kept struct {
		AgentName      json.RawMessage `json:"agent_name,omitempty"`
		PermissionType json.RawMessage `json:"permission_type,omitempty"`
	}
	const longest = 4 * schema.MaxName
	if json.Unmarshal(payload, &kept) != nil {
		return []byte("{}")
	}
	if len(kept.AgentName) > longest {
		kept.AgentName = nil
	}
	if len(kept.PermissionType) > longest {
		kept.PermissionType = nil
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return []byte("{}")
	}
	return b
}

// naming is an envelope that holds an event's names and nothing else.
func naming(e *store.Event) []byte {
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
