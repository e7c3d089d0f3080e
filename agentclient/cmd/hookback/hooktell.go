package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// tell sends the call's event, and what earlier hooks could not send. What no hub
// takes is kept for the next hook.
func (h *hooking) tell(c *hook.Call) {
	hubs, err := h.hubs()
	if err != nil {
		h.note("%v", err)
		h.keep(c.Event, err)
		return
	}
	body, err := encodeEvent(&c.Event)
	if err != nil {
		h.note("the event can't be sent: %v", err)
		return
	}
	courier, until := courier{hubs, h.env}, time.Now().Add(sendTime)
	_, err = courier.post(until, schema.PathEvents, body)
	switch {
	case errors.As(err, new(refusal)):
		h.note("%s was not stored: %v", c.Event.HookEventType, err)
	case err != nil:
		h.keep(c.Event, err)
	default:
		h.flush(courier, until)
	}
}

// keep stores an event that could not be sent.
func (h *hooking) keep(e schema.Event, cause error) {
	e.HumanInTheLoop = nil // nobody waits for the answer any more
	first, err := h.spool.keep(e)
	switch {
	case err != nil:
		h.note("%s is lost: it was not sent (%v), and not kept (%v)", e.HookEventType, cause, err)
	case first:
		h.note("%v; events are kept until the hub is back", cause)
	}
}

// flush sends what earlier hooks kept.
func (h *hooking) flush(c courier, until time.Time) {
	h.spool.flush(until, func(body net.Buffers) ([]byte, error) { return c.post(until, schema.PathBatch, body) })
}

func millis(t time.Time) schema.Millis { return schema.Millis(t.UnixMilli()) }

// keyOf is an event's idempotency key. Two hooks of ours may tell of the same thing,
// since agents merge settings of several places: what has a number of its own is one
// event, and one question. What has none is never taken for another because it looks
// alike: the same call asked twice is two questions.
func keyOf(e *schema.Event) string {
	if e.ToolUseID == "" {
		return "hook/" + rand.Text()
	}
	key := strings.Join([]string{"hook", e.Agent, e.SessionID, e.HookEventType, e.ToolUseID}, "/")
	if len(key) > schema.MaxName {
		sum := sha256.Sum256([]byte(key))
		return "hook/" + hex.EncodeToString(sum[:])
	}
	return key
}
