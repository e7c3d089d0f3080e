package hookrun

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// turnUsageTimeout and sessionUsageTimeout limit how long a hook reads the usage of a session, after a turn and at its
// end. A busy machine reads 100 MB of transcripts in a second.
const (
	turnUsageTimeout    = 250 * time.Millisecond
	sessionUsageTimeout = time.Second
	usagePollInterval   = 50 * time.Millisecond // while the agent writes the transcript
)

// readUsage adds the usage of the session to the events that end a turn or the session: its agent may send no
// telemetry.
func (h *hookRun) readUsage(c *hook.Call) {
	e, timeout := &c.Event, sessionUsageTimeout
	if e.HookEventType == "Stop" {
		timeout = turnUsageTimeout
	}
	if e.Agent != "claude-code" || e.HookEventType != "Stop" && e.HookEventType != "SessionEnd" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var err error
	if e.ModelUsage, err = usage.OfSession(ctx, transcriptPath(c), e.SessionID); err != nil && timeout == sessionUsageTimeout {
		h.logf("read the usage of the session: %v", err) // after a turn, the next event has it
	}
}

// reportCleared sends the usage of the session that the person has cleared: Claude Code begins to write its totals
// after the last hook of the session, and before the first one of the next, which has answered.
func (h *hookRun) reportCleared(c *hook.Call) {
	e := c.Event
	if e.Agent != "claude-code" || e.HookEventType != "SessionStart" || e.Source != "clear" {
		return
	}
	path := usage.Previous(transcriptPath(c))
	e = schema.Event{
		SourceApp: e.SourceApp, SessionID: strings.TrimSuffix(filepath.Base(path), ".jsonl"), HookEventType: "ApiUsage", Agent: e.Agent,
		OSUser: e.OSUser, Timestamp: e.Timestamp, Payload: json.RawMessage("{}"), Summary: "The totals of the session", IdempotencyKey: randomKey(),
	}
	ctx, cancel := context.WithTimeout(context.Background(), sessionUsageTimeout)
	defer cancel()
	for ctx.Err() == nil {
		e.ModelUsage, _ = usage.OfSession(ctx, path, e.SessionID) // without it, the tokens of the last turn count
		switch {
		case len(e.ModelUsage) == 0:
			return
		case slices.ContainsFunc(e.ModelUsage, func(u schema.ModelUsage) bool { return u.CostUSD > 0 }):
			_, finish := h.send(&hook.Call{Event: e})
			finish()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(usagePollInterval):
		}
	}
}

// send sends the event of the call. It returns the directive of the hub, and the rest of the
// report: the events of earlier hooks that were spooled, or the spooling of this one if no hub
// accepted it. The hook answers its agent first.
func (h *hookRun) send(c *hook.Call) (directive *control.Directive, finish func()) {
	hubs, err := h.selectHub().Hubs()
	if err != nil {
		h.logf("%v", err)
		return nil, func() { h.spoolEvent(c.Event, err) }
	}
	body, err := report.EncodeEvent(&c.Event)
	if err != nil {
		h.logf("encode %s event: %v", c.Event.HookEventType, err)
		return nil, func() {}
	}
	limit := h.sendTimeout
	if c.AsksLater { // a grant that the hook does not get is lost
		limit = h.acceptTimeout
	}
	poster, deadline := h.poster(hubs), time.Now().Add(limit)
	withReceipt := poster
	withReceipt.Accepts, withReceipt.Ticket = h.accepts(c).String(), h.env(control.TicketVariable)
	response, err := withReceipt.Post(deadline, schema.PathEvents, body)
	switch {
	case errors.As(err, new(report.RejectionError)):
		h.logf("%s event rejected: %v", c.Event.HookEventType, err)
		if directive = h.sendWithoutPayload(c, withReceipt); directive == nil {
			directive = h.freezeDirective(c, hubs)
		}
		return directive, func() {}
	case err != nil:
		directive = h.freezeDirective(c, hubs)
		return directive, func() { h.spoolEvent(c.Event, err) }
	}
	if withReceipt.Accepts != "" {
		directive = directiveOf(response)
	}
	return directive, func() {
		if h.accepts(c).Freeze {
			h.rememberFreeze(c, hubs, directive.FreezeNotice())
		}
		h.flushSpool(poster, deadline)
	}
}

// freezeDirective returns the directive of a hub that can't be reached.
func (h *hookRun) freezeDirective(c *hook.Call, hubs []string) *control.Directive {
	if !h.accepts(c).Freeze {
		return nil
	}
	if notice := h.knownFreeze(c, hubs); notice != nil {
		return &control.Directive{Freeze: notice}
	}
	return nil
}

// sendWithoutPayload sends an event that the hub rejected again, without the part that the model
// chose: a freeze stops a call whatever its arguments are.
func (h *hookRun) sendWithoutPayload(c *hook.Call, poster report.Poster) *control.Directive {
	if !h.accepts(c).Freeze {
		return nil
	}
	e := c.Event
	e.Payload, e.PayloadSanitized, e.IdempotencyKey = json.RawMessage("{}"), true, randomKey()
	body, err := report.EncodeEvent(&e)
	if err != nil {
		return nil
	}
	poster.Accepts = control.Accepts{Freeze: true}.String()
	response, err := poster.Post(time.Now().Add(h.sendTimeout), schema.PathEvents, body)
	if err != nil {
		return nil
	}
	return directiveOf(response)
}

// directiveOf returns the directive in a hub's response; nil if there is none.
func directiveOf(response []byte) *control.Directive {
	if !bytes.Contains(response, []byte(`"directive"`)) {
		return nil // and the hook has no time to decode an event as large as its call
	}
	var receipt control.EventReceipt
	if json.Unmarshal(response, &receipt) != nil {
		return nil
	}
	return receipt.Directive
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

// idempotencyKey returns the idempotency key of an event without a question: that of its tool call,
// or a random one.
func idempotencyKey(e *schema.Event) string { return cmp.Or(hook.CallKey(e), randomKey()) }

// hashOf returns the SHA-256 of a text in hexadecimal.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
