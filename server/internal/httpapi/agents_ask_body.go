package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/digest"
)

// askEvent is the type of the events that POST /ask stores.
const askEvent = "DecisionPoint"

// askBody is the body of POST /ask as an event.
type askBody struct {
	event  []byte
	secret string // the request secret that the program chose, or ""
}

// eventMembers are the members of the body that belong to the event. The others are the question's.
var eventMembers = map[string]bool{"source_app": true, "session_id": true, "payload": true}

// parseAsk makes an event of a question. Repeats with the same idempotency key and body become the
// same bytes.
func parseAsk(body []byte, key string, by hub.Caller) (askBody, error) {
	members, q, err := splitAsk(body)
	if err != nil {
		return askBody{}, err
	}
	var ask schema.HumanInTheLoop
	if err := ask.UnmarshalJSON(objectOf(q)); err != nil {
		return askBody{}, err
	}
	switch {
	case ask.ResponseWebSocketURL != "" || ask.ListenerKey != "" || ask.Lifeline:
		return askBody{}, &schema.FieldError{Field: "responseWebSocketUrl", Detail: "has no effect here: the answer is in the response. Leave out responseWebSocketUrl, listenerKey and lifeline"}
	case ask.Type == "":
		q = append(q, []byte(`"type":`+strconv.Quote(string(ask.DefaultKind()))))
	}
	if ask.Nonce != "" && ask.ProtocolVersion == 0 {
		q = append(q, []byte(`"protocolVersion":2`)) // version 1 has no signed answers
	}
	event := [][]byte{
		member("source_app", members["source_app"], `"ask"`),
		member("session_id", members["session_id"], strconv.Quote(sessionOf(key, by))),
		member("hook_event_type", nil, strconv.Quote(askEvent)),
		member("payload", members["payload"], `{}`),
	}
	if key != "" {
		quoted, err := jsontext.AppendQuote(nil, key)
		if err != nil {
			return askBody{}, &schema.FieldError{Field: schema.IdempotencyHeader, Detail: "is not valid"}
		}
		event = append(event, member("idempotency_key", quoted, ""))
	}
	event = append(event, member("humanInTheLoop", objectOf(q), ""))
	return askBody{objectOf(event), ask.RequestSecret}, nil
}

// sessionOf returns the session of a request that names none: a random one, or that of the
// caller's idempotency key.
func sessionOf(key string, by hub.Caller) string {
	if key == "" {
		return uuid.NewString()
	}
	sum := sha256.Sum256([]byte(by.KeyScope + "\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// splitAsk returns the members of the event by name, and those of the question as sent.
func splitAsk(body []byte) (event map[string][]byte, question [][]byte, err error) {
	event = map[string][]byte{}
	err = digest.Members(body, func(name string, _, value []byte) error { // the hub rejects invalid UTF-8
		switch {
		case name == "idempotency_key":
			return &schema.FieldError{Field: name, Detail: "is the header " + schema.IdempotencyHeader + " here"}
		case !eventMembers[name]:
			if question = append(question, member(name, value, "")); len(question) > maxMembers {
				return &schema.FieldError{Detail: "has too many members"}
			}
		case event[name] != nil:
			return &schema.FieldError{Field: name, Detail: "is given twice"}
		case string(value) != "null":
			event[name] = value
		}
		return nil
	})
	return event, question, err
}

// maxMembers is the maximum number of members of a question's body: more than the hub knows and
// keeps.
const maxMembers = 2 * schema.MaxExtra

// member returns a JSON member. A missing value is the default.
func member(name string, value []byte, fallback string) []byte {
	if value == nil {
		value = []byte(fallback)
	}
	quoted, _ := jsontext.AppendQuote(nil, name) // a decoded name is valid UTF-8
	return append(append(quoted, ':'), value...)
}

// objectOf returns a JSON object with the members.
func objectOf(members [][]byte) []byte {
	b := append([]byte{'{'}, bytes.Join(members, []byte{','})...)
	return append(b, '}')
}
