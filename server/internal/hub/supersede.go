package hub

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// sharedListener returns a hash that is equal for questions whose answers the listener of a
// version 1 agent can't distinguish. The sample client of the integration guide gives an
// answer to the newest question with its permission_type. It is nil for other questions:
// one without a callback address has no listener, and one without a permission_type has a
// separate listener.
func sharedListener(d *store.EventDraft, q *schema.HumanInTheLoop, requester string) []byte {
	if q.Acknowledges() || q.ResponseWebSocketURL == "" {
		return nil
	}
	var payload map[string]json.RawMessage
	var permissionType string
	if json.Unmarshal(d.Payload, &payload) != nil || json.Unmarshal(payload["permission_type"], &permissionType) != nil || permissionType == "" {
		return nil
	}
	raw, err := json.Marshal([]string{d.App, d.Session, permissionType, requester})
	if err != nil { // unreachable: strings can be encoded
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:16]
}

// supersede returns the change that ends an older question of a shared listener, or the
// delivery of its answer. Nothing is sent: the agent would take it for the answer to the
// newer question. It runs on the store's writer goroutine.
func (h *Hub) supersede(older *store.Question, by schema.EventID) (*store.Change, error) {
	s, err := h.decodeSnapshot(older)
	if err != nil {
		return nil, err
	}
	if s.status.IsSettled() {
		d := *s.Delivery
		d.State, d.Sent, d.Due, d.Leased = schema.TooLate, true, time.Time{}, time.Time{}
		return s.deliveryChange(&d, schema.Delivery{
			State: schema.TooLate, Attempts: d.Attempts, LastError: "the agent asked another question of this kind",
		})
	}
	s.status.SupersededBy = by
	res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySuperseded, silent: true}
	return res.change(s, h.Clock())
}
