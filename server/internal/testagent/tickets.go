package testagent

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

const (
	// ticketLifetime is how long a ticket can be used, denialLifetime how long its question can be denied.
	ticketLifetime, denialLifetime = time.Minute, 10 * time.Minute
	// maxTickets bounds the memory for tickets. The oldest one makes room.
	maxTickets = 256
)

// Tickets mark the requests of hookback doctor as tests. A ticket marks one request. Agents can get
// tickets, too, so a marked question can only be denied: a ticket can't hide an approval. The zero value
// has no tickets. Its methods are safe for concurrent use.
type Tickets struct {
	Clock func() time.Time // default: time.Now

	mu   sync.Mutex
	list []*ticket // in the order of their creation
}

type ticket struct {
	text   string
	made   time.Time
	isUsed bool
	id     schema.EventID // of its question; 0: none
}

// New returns a ticket.
func (t *Tickets) New() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	created := &ticket{text: rand.Text() + rand.Text(), made: t.now()}
	for len(t.list) > 0 && (len(t.list) >= maxTickets || created.made.Sub(t.list[0].made) > denialLifetime) {
		t.list = t.list[1:]
	}
	t.list = append(t.list, created)
	return created.text
}

// Redeem uses a ticket up. The error is schema.ErrForbidden if it is unknown, used or too old.
func (t *Tickets) Redeem(text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.find(text)
	if found == nil || found.isUsed || t.now().Sub(found.made) > ticketLifetime {
		return &schema.FieldError{Field: control.TestHeader, Detail: "is no ticket that works: each works once, within 60 seconds", Cause: schema.ErrForbidden}
	}
	found.isUsed = true
	return nil
}

// Record stores which question a redeemed ticket marked.
func (t *Tickets) Record(text string, id schema.EventID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.find(text); found != nil {
		found.id = id
	}
}

// Question returns the question that a ticket marked. The error is schema.ErrNotFound if there is none.
func (t *Tickets) Question(text string) (schema.EventID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.find(text)
	if found == nil || found.id == 0 || t.now().Sub(found.made) > denialLifetime {
		return 0, schema.ErrNotFound
	}
	return found.id, nil
}

func (t *Tickets) find(text string) *ticket {
	for _, found := range t.list {
		if found.text == text {
			return found
		}
	}
	return nil
}

func (t *Tickets) now() time.Time {
	if t.Clock == nil {
		return time.Now()
	}
	return t.Clock()
}
