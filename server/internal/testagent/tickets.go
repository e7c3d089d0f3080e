package testagent

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/flows"
)

// ticketLifetime is how long a ticket can be used, denialLifetime how long its question can be denied.
const ticketLifetime, denialLifetime = time.Minute, 10 * time.Minute

// The tickets, and the questions that they marked.
var (
	tickets   = flows.Kind{Name: "test ticket", Limit: 256}
	questions = flows.Kind{Name: "question of a test ticket", Limit: 256}
)

// Tickets mark the requests of hookback doctor as tests. A ticket marks one request. Agents can get
// tickets, too, so a marked question can only be denied: a ticket can't hide an approval.
type Tickets struct{ flows.Flows }

// New returns a ticket.
func (t *Tickets) New(ctx context.Context) (text string, err error) {
	text = rand.Text() + rand.Text()
	return text, t.Put(ctx, flows.Key{Kind: tickets, Secret: text}, struct{}{}, t.Clock().Add(ticketLifetime))
}

// Redeem uses a ticket up. The error is schema.ErrForbidden if it is unknown, used or too old.
func (t *Tickets) Redeem(ctx context.Context, text string) error {
	ok, err := t.Take(ctx, flows.Key{Kind: tickets, Secret: text}, &struct{}{})
	if err == nil && !ok {
		err = &schema.FieldError{Field: control.TestHeader, Detail: "is no ticket that works: each works once, within 60 seconds", Cause: schema.ErrForbidden}
	}
	return err
}

// Record stores which question a redeemed ticket marked.
func (t *Tickets) Record(ctx context.Context, text string, id schema.EventID) error {
	return t.Put(ctx, flows.Key{Kind: questions, Secret: text}, id, t.Clock().Add(denialLifetime))
}

// Question returns the question that a ticket marked. The error is schema.ErrNotFound if there is none.
func (t *Tickets) Question(ctx context.Context, text string) (id schema.EventID, err error) {
	ok, err := t.Take(ctx, flows.Key{Kind: questions, Secret: text}, &id)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, schema.ErrNotFound
	}
	return id, t.Record(ctx, text, id) // its denial may be repeated
}
