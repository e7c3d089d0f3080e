package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// Deliveries is the outbox of answers.
type Deliveries interface {
	// LeaseDeliveries leases up to n due deliveries to the caller until the given time,
	// longest due first. It leases no delivery to a loopback address of another machine before its Until.
	// It returns their questions, and in next when to call again: zero if no delivery is open. Deliveries
	// in the states none, delivered, acked, pulled, fetched, too_late and blocked are never due, nor are
	// unconfirmed, refused and unreachable ones with a zero Due.
	LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error)

	// Listeners returns the version 2 listeners of up to limit pending questions after the
	// given one, oldest first.
	Listeners(ctx context.Context, after schema.EventID, limit int) (listeners []Listener, _ error)
}

// Delivery is the outbox row of an answer: its path to the agent.
type Delivery struct {
	ID       schema.EventID // of the question
	AnswerID string         // UUIDv7, the same for all attempts
	State    schema.DeliveryState
	Attempts int
	// Sent is set before the first byte goes to a version 1 listener, and when the agent
	// withdrew its question. Nothing is sent after that.
	Sent   bool
	Due    time.Time // next attempt; zero: none
	Until  time.Time // end of retries
	Leased time.Time // end of the current worker's exclusive lease
	// Handled is the time a person marked the delivery as handled, which ends automatic
	// retries; zero: not handled.
	Handled time.Time
}

// Listener is the address where the agent of a pending question waits for its answer.
type Listener struct {
	ID     schema.EventID // of the question
	URL    string         // secret
	Status []byte         // humanInTheLoopStatus
	Place
}

// Place is where the agent of a question waits.
type Place struct {
	// Owner is the ID of the hub that answered the POST of the question, or its last repeat.
	Owner string
	// Machine is the one on which URL means the agent, because it is a loopback address; empty: any.
	Machine string
}

// IsOpen reports whether an attempt is pending or in progress, or the state allows
// another attempt and Due names its time.
func (d *Delivery) IsOpen() bool {
	switch d.State {
	case schema.Queued, schema.Sending:
		return d.Handled.IsZero()
	case schema.TooLate, schema.Blocked:
		return false
	default:
		return d.IsUndelivered() && !d.Due.IsZero()
	}
}

// IsUndelivered reports whether a person should know that the answer may not have reached
// the agent.
func (d *Delivery) IsUndelivered() bool {
	if !d.Handled.IsZero() {
		return false
	}
	switch d.State {
	case schema.NoDelivery, schema.Delivered, schema.Acked, schema.Pulled, schema.Fetched:
		return false
	default:
		return true
	}
}
