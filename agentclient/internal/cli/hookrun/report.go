package hookrun

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
)

// report sends the event of the call and then the spooled events of earlier hooks. If no
// hub accepts the event, it is spooled.
func (h *hookRun) report(c *hook.Call) {
	hubs, err := h.selectHub().Hubs()
	if err != nil {
		h.logf("%v", err)
		h.spoolEvent(c.Event, err)
		return
	}
	body, err := report.EncodeEvent(&c.Event)
	if err != nil {
		h.logf("encode %s event: %v", c.Event.HookEventType, err)
		return
	}
	poster, deadline := h.poster(hubs), time.Now().Add(report.SendTimeout)
	_, err = poster.Post(deadline, schema.PathEvents, body)
	switch {
	case errors.As(err, new(report.RejectionError)):
		h.logf("%s event rejected: %v", c.Event.HookEventType, err)
	case err != nil:
		h.spoolEvent(c.Event, err)
	default:
		h.flushSpool(poster, deadline)
	}
}

// spoolEvent stores an event that no hub accepted. It logs cause for the first one only.
func (h *hookRun) spoolEvent(e schema.Event, cause error) {
	e.HumanInTheLoop = nil // no one waits for the answer anymore
	isFirst, err := h.spool.Keep(e)
	switch {
	case err != nil:
		h.logf("%s event lost: sending failed (%v) and storing failed (%v)", e.HookEventType, cause, err)
	case isFirst:
		h.logf("%v; events are stored until the hub accepts them", cause)
	}
}

// flushSpool sends the spooled events of earlier hooks.
func (h *hookRun) flushSpool(poster report.Poster, deadline time.Time) {
	h.spool.Flush(deadline, func(body net.Buffers) ([]byte, error) { return poster.Post(deadline, schema.PathBatch, body) })
}

// randomKey returns the idempotency key of a question. A predictable key would let another
// program post its own question under it first, and get the answer for this one.
func randomKey() string { return "hook/" + rand.Text() }

// idempotencyKey returns the idempotency key of an event without a question. Agents merge
// settings of several places, so two hooks can report the same tool call: events with the
// same tool use ID share a key and are stored once. An event without an ID gets a random key.
func idempotencyKey(e *schema.Event) string {
	if e.ToolUseID == "" {
		return randomKey()
	}
	key := strings.Join([]string{"hook", e.Agent, e.SessionID, e.HookEventType, e.ToolUseID}, "/")
	if len(key) > schema.MaxName {
		sum := sha256.Sum256([]byte(key))
		return "hook/" + hex.EncodeToString(sum[:])
	}
	return key
}
