package query

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxSummary is the size from which a list with summaries leaves out the payload of an event with
	// a question, and shortens the question.
	maxSummary = 16 << 10
	// maxSummaryText limits a text in a shortened question.
	maxSummaryText = 1 << 10
)

// Form is the form of the events in a list.
type Form int64

// The forms, as in the parameter summary.
const (
	Complete         Form = iota
	Summaries             // large questions are shortened, and the payloads of questions left out
	RequestSummaries      // an event with a question has at most MaxRequestSummary bytes, without its names
)

func (f Form) of(e *store.Event) *store.Event {
	switch f {
	case Summaries:
		return summarize(e)
	case RequestSummaries:
		return requestSummary(e)
	default:
		return e
	}
}

// summarize returns an event with a question as a list with summaries contains it: marked, without a large
// payload and with a shortened question. An event without a question is unchanged, because lists leave out
// its payload only if a search skips it, too.
func summarize(e *store.Event) *store.Event {
	if e.Question == nil || len(e.Payload) <= maxSummary && len(e.Question) <= maxSummary {
		return e
	}
	short := *e
	if len(e.Payload) > maxSummary {
		short.Payload, short.PayloadBytes = nil, len(e.Payload)
	}
	if len(e.Question) > maxSummary {
		short.Question, short.QuestionTruncated = shortQuestion(e.Question, maxSummary, maxSummaryText), true
	}
	return &short
}

func encode(members map[string]json.RawMessage) json.RawMessage {
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return value == nil })
	b, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("{}") // not possible for members of a JSON object
	}
	return b
}

// MaxRequestSummary limits an event with a question in a list of request summaries. Names of its application and
// session of more than usualName bytes, and names of many people, add to it: they are keys, so they are never cut.
const MaxRequestSummary = 1536

// Limits of the parts of a request summary, encoded.
const (
	maxSummaryTitle    = 200 // the question, and the object of its intent
	maxSummaryName     = 72
	maxSummaryArgument = 120
	usualName          = 64
)

// requestSummary returns an event with a question in the form of a list of request summaries: the members for its row,
// its place in the inbox and the count of pending requests, marked as shortened. Small events are unchanged.
func requestSummary(e *store.Event) *store.Event {
	if e.Question == nil || e.PayloadBytes == 0 && len(e.AppendJSON(nil, -1)) <= MaxRequestSummary {
		return e
	}
	short := *e
	short.Payload, short.PayloadBytes = nil, max(len(e.Payload), e.PayloadBytes, 1)
	short.Envelope = summaryEnvelope(e)
	short.Status = summaryStatus(e.Status)
	short.QuestionTruncated = true
	short.Question = []byte("{}")
	room := MaxRequestSummary - len(short.AppendJSON(nil, -1)) + max(0, len(e.App)-usualName) + max(0, len(e.Session)-usualName)
	short.Question = shortQuestion(e.Question, room, 0)
	return &short
}

// summaryEnvelope keeps the members that name the requester.
func summaryEnvelope(e *store.Event) []byte {
	all := objectOf(e.EnvelopeObject())
	short := pick(all, "source_app", "session_id")
	for _, name := range []string{"hook_event_type", "agent", "agent_id", "agent_type", "tool_name", "tool_use_id"} {
		if value := all[name]; len(value) <= maxSummaryName {
			short[name] = value
		}
	}
	if short["hook_event_type"] == nil {
		short["hook_event_type"] = textWithin(all["hook_event_type"], maxSummaryName)
	}
	text := encode(short)
	return text[1 : len(text)-1]
}

// summaryStatus keeps the state, the votes and the recipients of a question.
func summaryStatus(status []byte) []byte {
	all := objectOf(status)
	short := pick(all, "status", "revision", "expiresAt", "respondedAt", "requiredApprovals", "recipients", "awaiting", "waiter", "waiters",
		"sameAs", "follows", "supersededBy", "risk", "class", "test", "probe", "source", "escalatedAt")
	if len(all["outcome"]) <= maxSummaryTitle { // a choice resolves to its label
		short["outcome"] = all["outcome"]
	}
	if held := objectOf(all["held"]); held != nil {
		brief := pick(held, "until", "revision")
		brief["outcome"], brief["by"] = textWithin(held["outcome"], maxSummaryName), pickIn(held["by"], "name", "verified")
		short["held"] = encode(brief)
	}
	short["delivery"] = pickIn(all["delivery"], "state", "attempts", "handledAt", "nextAttemptAt")
	short["respondedBy"] = pickIn(all["respondedBy"], "name", "verified", "via")
	if intent := objectOf(all["intent"]); intent != nil {
		short["intent"] = encode(map[string]json.RawMessage{
			"verb": intent["verb"], "object": textWithin(intent["object"], maxSummaryTitle), "change": textWithin(intent["change"], maxSummaryName),
		})
	}
	var votes []map[string]json.RawMessage
	if json.Unmarshal(all["votes"], &votes) == nil && len(votes) > 0 {
		for i := range votes {
			choice := textWithin(votes[i]["choice"], maxSummaryName)
			votes[i] = pick(votes[i], "user", "at")
			votes[i]["choice"] = choice
		}
		short["votes"], _ = json.Marshal(votes) // cannot fail
	}
	return encode(short)
}

// shortQuestion keeps the start of the question and, within room bytes, the starts of the arguments of its call. Texts
// have at most maxText bytes, or what a row of a list needs of them.
func shortQuestion(question []byte, room, maxText int) []byte {
	all := objectOf(question)
	short := pick(all, "type", "requiresResponse", "risk", "reasonRequired", "requiredApprovals", "alsoAsked")
	short["question"] = textWithin(all["question"], max(maxText, maxSummaryTitle))
	if appeal := objectOf(all["appeal"]); appeal != nil {
		brief := pick(appeal, "later")
		brief["by"] = json.RawMessage(`""`)
		if maxText > 0 {
			brief["by"], brief["reason"] = textWithin(appeal["by"], maxText), textWithin(appeal["reason"], maxText)
		}
		short["appeal"] = encode(brief)
	}
	call := objectOf(all["toolCall"])
	if call == nil {
		return encode(short)
	}
	brief, arguments := map[string]json.RawMessage{"name": textWithin(call["name"], maxSummaryName)}, map[string]json.RawMessage{}
	brief["arguments"] = encode(arguments)
	short["toolCall"] = encode(brief)
	room -= len(encode(short))
	full := objectOf(call["arguments"])
	for _, name := range slices.Sorted(maps.Keys(full)) {
		value := textWithin(full[name], max(maxText, maxSummaryArgument))
		if room -= len(encode(map[string]json.RawMessage{name: value})); room < 0 {
			break
		}
		arguments[name] = value
	}
	brief["arguments"] = encode(arguments)
	short["toolCall"] = encode(brief)
	return encode(short)
}

// objectOf returns the members of a JSON object; nil for another value.
func objectOf(value json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	return members
}

// pick returns the named members of an object.
func pick(object map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	picked := map[string]json.RawMessage{}
	for _, name := range names {
		if value, ok := object[name]; ok {
			picked[name] = value
		}
	}
	return picked
}

// pickIn is pick for an encoded object; nil for another value.
func pickIn(value json.RawMessage, names ...string) json.RawMessage {
	object := objectOf(value)
	if object == nil {
		return nil
	}
	return encode(pick(object, names...))
}

// textWithin returns the start and the end of a JSON string, encoded in at most limit bytes, and a value that is no
// string only if it fits.
func textWithin(value json.RawMessage, limit int) json.RawMessage {
	var text string
	if len(value) <= limit {
		return value
	}
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	for keep := min(limit, len(text)); keep > 8; keep -= keep / 8 {
		head, tail := strings.ToValidUTF8(text[:keep*2/3], ""), strings.ToValidUTF8(text[len(text)-keep/3:], "")
		if b, err := json.Marshal(head + "…" + tail); err == nil && len(b) <= limit {
			return b
		}
	}
	return json.RawMessage(`"…"`)
}
