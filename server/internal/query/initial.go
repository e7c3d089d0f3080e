package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxInitialBytes limits the data of a version 1 initial message, so that the message is below
	// MaxPageBytes.
	maxInitialBytes = MaxPageBytes - 1<<10
	// maxShortText and maxShortChoices limit the question and the choices of a shortened question.
	maxShortText    = 1 << 10
	maxShortChoices = 4 << 10
	shortMark       = " … [shortened]"
)

// encodeInitial encodes the events of an initial message, oldest first, as a JSON array of at most
// maxInitialBytes. It omits the oldest events that are not pending and the payloads of the oldest that
// are. If that is not enough, it shortens the oldest pending questions, and after that it omits
// the newest: an agent that asks thousands of questions cannot displace those before it.
func encodeInitial(events []*store.Event, pending map[schema.EventID]bool) ([]byte, error) {
	data := encodeUpTo(maxInitialBytes, events, pending, true)
	excess := len(data) - maxInitialBytes
	if excess <= 0 {
		return data, nil
	}
	events = slices.DeleteFunc(events, func(e *store.Event) bool { return !pending[e.ID] })
	for i, e := range events {
		if excess <= 0 {
			break
		}
		short, err := shortened(e)
		if err != nil {
			return nil, err
		}
		if saved := len(e.AppendJSON(nil, 0)) - len(short.AppendJSON(nil, 0)); saved > 0 {
			events[i], excess = short, excess-saved
		}
	}
	for n := len(events); excess > 0 && n > 0; n = len(events) {
		excess -= len(events[n-1].AppendJSON(nil, 0)) + len(",")
		events = events[:n-1]
	}
	return encodeUpTo(maxInitialBytes, events, pending, true), nil
}

// shortened returns an event with the members that a version 1 page needs to show and answer its
// question. Choices that are too long are omitted, because only a complete choice is an answer.
func shortened(e *store.Event) (*store.Event, error) {
	var q schema.HumanInTheLoop
	var st schema.Status
	err := q.UnmarshalJSON(e.Question)
	if err == nil {
		err = json.Unmarshal(e.Status, &st)
	}
	if err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	short := *e
	short.Payload, short.PayloadBytes = nil, max(len(e.Payload), e.PayloadBytes)
	asked := schema.HumanInTheLoop{Question: shortText(q.Question), Type: q.Type, Timeout: q.Timeout, RequiresResponse: q.RequiresResponse, Risk: q.Risk}
	if size := len(strings.Join(q.Choices, "")); size <= maxShortChoices {
		asked.Choices, asked.AllowOther = q.Choices, q.AllowOther
	}
	if q.ToolCall != nil {
		asked.ToolCall = &schema.ToolCall{Name: q.ToolCall.Name}
	}
	if short.Question, err = json.Marshal(asked); err != nil {
		return nil, err
	}
	if short.Status, err = json.Marshal(schema.Status{
		Status: st.Status, ExpiresAt: st.ExpiresAt, Revision: st.Revision, RequiredApprovals: st.RequiredApprovals,
		Risk: st.Risk, Class: st.Class,
	}); err != nil {
		return nil, err
	}
	members, err := json.Marshal(struct {
		App       string `json:"source_app"`
		Session   string `json:"session_id"`
		Type      string `json:"hook_event_type"`
		Truncated bool   `json:"questionTruncated"`
	}{e.App, e.Session, e.Type, true})
	short.Envelope = members[1 : len(members)-1]
	return &short, err
}

// shortText returns a text of at most maxShortText bytes that shows that something is missing.
func shortText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxShortText-len(shortMark))], "") + shortMark
}
