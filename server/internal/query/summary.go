package query

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

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
		short.Question, short.QuestionTruncated = shortQuestion(e.Question), true
	}
	return &short
}

// shortQuestion returns the start of the question's text and of the call's arguments, and the other members
// within the limit. Omitted members are not marked.
func shortQuestion(question []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(question, &members) != nil {
		return []byte("{}") // not possible for a stored question
	}
	short := map[string]json.RawMessage{}
	room := maxSummary
	add := func(name string, value json.RawMessage) {
		if len(value) <= maxSummaryText+maxSummary/2 && len(name)+len(value) < room {
			short[name], room = value, room-len(name)-len(value)-4
		}
	}
	add("question", textStart(members["question"]))
	add("type", members["type"])
	add("toolCall", shortCall(members["toolCall"]))
	add("appeal", shortAppeal(members["appeal"]))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, ok := short[name]; !ok && len(members[name]) <= maxSummaryText {
			add(name, members[name])
		}
	}
	return encode(short)
}

// shortCall keeps the name of a tool call and the start of its texts.
func shortCall(call json.RawMessage) json.RawMessage {
	var c struct {
		Name      json.RawMessage            `json:"name"`
		Arguments map[string]json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(call, &c) != nil || c.Name == nil {
		return nil
	}
	room := maxSummary / 2
	arguments := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(c.Arguments)) {
		value := textStart(c.Arguments[name])
		if len(value) <= 2*maxSummaryText && len(name)+len(value) < room {
			arguments[name], room = value, room-len(name)-len(value)-4
		}
	}
	return encode(map[string]json.RawMessage{"name": c.Name, "arguments": encode(arguments)})
}

// shortAppeal keeps the starts of the texts of an appeal.
func shortAppeal(appeal json.RawMessage) json.RawMessage {
	var a map[string]json.RawMessage
	if json.Unmarshal(appeal, &a) != nil || a == nil {
		return nil
	}
	return encode(map[string]json.RawMessage{"by": textStart(a["by"]), "reason": textStart(a["reason"])})
}

// textStart returns the start of a JSON string; other values are unchanged.
func textStart(value json.RawMessage) json.RawMessage {
	var text string
	if len(value) <= maxSummaryText || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return value
	}
	cut := min(maxSummaryText, len(text))
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	b, err := json.Marshal(text[:cut] + "…")
	if err != nil {
		return nil
	}
	return b
}

func encode(members map[string]json.RawMessage) json.RawMessage {
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return value == nil })
	b, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("{}") // not possible for members of a JSON object
	}
	return b
}
