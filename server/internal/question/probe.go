package question

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A question with a ticket of hookback doctor is marked as a test and counts nowhere. Agents can get
// tickets, so such a question can only be denied: nothing that needs an approval can hide behind one.

// DenyProbe returns the change that denies a question of hookback doctor, with its request secret.
func (s *Snapshot) DenyProbe(secret, reason string, now time.Time) (*store.Change, error) {
	if !s.Status.Probe {
		return nil, schema.ErrForbidden
	}
	if err := s.CheckSecret(schema.SecretHeader, secret); err != nil {
		return nil, err
	}
	if s.Status.IsSettled() {
		return nil, SettledError(&s.Status)
	}
	denied := false
	r := &schema.Response{Permission: &denied, Reason: reason}
	if err := s.Ask.CheckResponse(r); err != nil {
		return nil, err
	}
	res := &resolution{
		state: schema.Responded, outcome: schema.Deny, source: schema.ByRule, reason: reason,
		by: &schema.Responder{Name: "hookback doctor", Via: "rule"}, answer: schema.Answer{Permission: &denied},
	}
	return res.change(s, now)
}
