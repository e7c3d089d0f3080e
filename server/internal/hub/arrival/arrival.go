// Package arrival reads posted events. Each part of an event is read when the hub needs it first, and once; members that
// the hub only stores are not decoded. The package does no I/O.
package arrival

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

// Arrival is a posted event as it will be stored, the draft for store.Log.Append. One goroutine uses it.
type Arrival struct {
	members
	Ask *schema.HumanInTheLoop // set by Question; nil: the event has no question

	body       []byte
	sent       sign.AskParts          // before redaction
	sentAsk    *schema.HumanInTheLoop // nil: not decoded, or it can't be
	sentCall   *question.Call         // about sentAsk
	isChanged  bool                   // the stored event differs from the body
	isRedacted bool                   // because it had secrets

	call *question.Call // see Call
}

// Parse splits a posted event into its members and removes its secrets. The slices of the result alias body, which must
// not change while it is used. It returns the errors of package schema.
func Parse(body []byte, redactor *redact.Redactor) (*Arrival, error) {
	a := &Arrival{body: body}
	if err := a.scan(body); err != nil {
		return nil, err
	}
	a.sent = sign.AskParts{
		SourceApp: a.App, SessionID: a.Session, HookEventType: a.Type, ToolName: a.Tool, Payload: a.Payload, HumanInTheLoop: a.ask,
	}
	clean, isSanitized := schema.ReplaceHalfSurrogates(body)
	var lines func() []call.Line
	if a.HasQuestion() {
		lines = a.sentLines
	}
	clean, replaced := redactor.Ask(clean, lines)
	a.isRedacted, a.isChanged = replaced > 0, replaced > 0 || isSanitized
	if a.isChanged {
		if err := a.scan(clean); err != nil {
			return nil, err
		}
	}
	if isSanitized {
		a.setSanitized()
	}
	return a, nil
}

// HasQuestion reports whether the event has a question, which may be invalid.
func (a *Arrival) HasQuestion() bool { return a.ask != nil }

// Agent returns the coding agent whose hook sent the event; empty: unknown.
func (a *Arrival) Agent() string { return a.agent }

// sentLines returns the command lines of the question's call before redaction.
func (a *Arrival) sentLines() []call.Line {
	var q schema.HumanInTheLoop
	if q.UnmarshalJSON(a.sent.HumanInTheLoop) != nil {
		return nil
	}
	a.sentAsk = &q
	a.sentCall = a.SentCall(&q)
	return a.sentCall.Reading().Lines
}

// Receive adds when the event was received and the owner of the token that sent it, if any.
func (a *Arrival) Receive(uid string, now time.Time, tokenOwner string) {
	a.UID, a.ReceivedAt = uid, now
	a.Timestamp = cmp.Or(a.Timestamp, now.UnixMilli())
	a.setTokenOwner(tokenOwner)
}

// ScopeKey limits the idempotency key to its poster, if the poster is authenticated: a repeat receives the question's
// secret and its answer. A scope separates the keys of a kind of request from all others.
func (a *Arrival) ScopeKey(poster, scope string) {
	key := a.IdempotencyKey
	if key == "" {
		return
	}
	switch {
	case poster != "":
		a.IdempotencyKey = poster + "\x00" + key
	case strings.Contains(key, "\x00"):
		a.IdempotencyKey = "\x00" + key // never the scoped key of someone else
	}
	if scope != "" { // no name starts with a line break
		a.IdempotencyKey = "\n" + scope + "\x00" + a.IdempotencyKey
	}
}

// Question decodes the question and returns it for question.New. It returns *schema.FieldError.
func (a *Arrival) Question() (*question.Post, error) {
	q := a.sentAsk
	if q == nil || a.isChanged {
		q = new(schema.HumanInTheLoop)
		if err := q.UnmarshalJSON(a.ask); err != nil {
			return nil, question.WithFieldPrefix("humanInTheLoop", err)
		}
	}
	a.Ask = q
	p := &question.Post{Ask: q, Body: a.body, Sent: a.sent, IsRedacted: a.isRedacted, Call: a.Call()}
	if err := p.Call.RefError; err != nil {
		return nil, question.WithFieldPrefix("humanInTheLoop", err)
	}
	if q.ToolCall != nil {
		q.ToolCall.Name = p.Call.Name // the arguments are stored once, in the payload
	}
	if a.isRedacted {
		p.SentCall = a.sentCall
	}
	return p, nil
}

// Call returns the call that the event, or its question after Question, is about; see question.CallOf.
func (a *Arrival) Call() *question.Call {
	if a.call == nil {
		a.call = question.CallOf(&a.Event, a.Ask)
	}
	return a.call
}

// SentCall returns the call that the question q, or the payload, is about, before redaction.
func (a *Arrival) SentCall(q *schema.HumanInTheLoop) *question.Call {
	return question.CallOf(&store.Event{Tool: a.sent.ToolName, Payload: a.sent.Payload}, q)
}

// Result is the result of one item of a batch: an event as JSON, or an error.
type Result struct {
	Event []byte
	Err   error
}

// EncodeResults returns a JSON array with one schema.BatchResult per item.
func EncodeResults(results []Result) ([]byte, error) {
	dst := []byte{'['}
	for i, result := range results {
		if i > 0 {
			dst = append(dst, ',')
		}
		if result.Err == nil {
			dst = append(append(append(dst, `{"event":`...), result.Event...), '}')
			continue
		}
		problem, err := json.Marshal(schema.ProblemOf(result.Err))
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, `{"problem":`...), problem...), '}')
	}
	return append(dst, ']'), nil
}
