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

// report sends the call's event, and what earlier hooks could not send. What no hub
// takes is kept for the next hook.
func (h *hookRun) report(c *hook.Call) {
	hubs, err := h.hubs()
	if err != nil {
		h.logf("%v", err)
		h.spoolEvent(c.Event, err)
		return
	}
	body, err := encodeEvent(&c.Event)
	if err != nil {
		h.logf("the event can't be sent: %v", err)
		return
	}
	poster, deadline := rawPoster{hubs, h.env}, time.Now().Add(sendTimeout)
	_, err = poster.post(deadline, schema.PathEvents, body)
	switch {
	case errors.As(err, new(rejectionError)):
		h.logf("%s was not stored: %v", c.Event.HookEventType, err)
	case err != nil:
		h.spoolEvent(c.Event, err)
	default:
		h.flushSpool(poster, deadline)
	}
}

// spoolEvent stores an event that could not be sent.
func (h *hookRun) spoolEvent(e schema.Event, cause error) {
	e.HumanInTheLoop = nil // nobody waits for the answer any more
	isFirst, err := h.spool.keep(e)
	switch {
	case err != nil:
		h.logf("%s is lost: it was not sent (%v), and not kept (%v)", e.HookEventType, cause, err)
	case isFirst:
		h.logf("%v; events are kept until the hub is back", cause)
	}
}

// flushSpool sends what earlier hooks kept.
func (h *hookRun) flushSpool(poster rawPoster, deadline time.Time) {
	h.spool.flush(deadline, func(body net.Buffers) ([]byte, error) { return poster.post(deadline, schema.PathBatch, body) })
}

func toMillis(t time.Time) schema.Millis { return schema.Millis(t.UnixMilli()) }

// idempotencyKey is an event's idempotency key. Two hooks of ours may tell of the same thing,
// since agents merge settings of several places: what has a number of its own is one
// event, and one question. What has none is never taken for another because it looks
// alike: the same call asked twice is two questions.
func idempotencyKey(e *schema.Event) string {
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
