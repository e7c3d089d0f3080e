package kit

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// MessageStore reads and writes messages to agents in a transaction.
type MessageStore interface {
	// Messages returns the messages that a query of MessageQueries finds.
	Messages(query string, args ...any) ([]control.Message, error)
	// InsertMessage assigns an ID and stores the message.
	InsertMessage(m *control.Message, key []byte) error
	// UpdateMessage stores the state, and the time and event of the handover.
	UpdateMessage(m *control.Message) error
}

// MessageQueries are queries for messages, the oldest first.
type MessageQueries struct {
	Saved      string // waiting messages for agents of a session; session and application
	HandedOver string // messages that an agent got before an event, and has not acted on; session, application, agent and event
	OfEvent    string // messages that were handed over with an event; event
	WithKey    string // the message with an idempotency key; key
}

// LedgerTx is a transaction with records in the audit log.
type LedgerTx interface {
	AppendLedger(records ...store.LedgerRecord) error
	// AfterCommit runs f when the transaction is committed.
	AfterCommit(f func())
}

// Messages changes messages to agents in a transaction.
type Messages struct {
	Store   MessageStore
	Tx      LedgerTx
	Queries *MessageQueries
	Now     time.Time
	Saved   *ItemCounts // messages that are not handed over
	Open    *ItemCounts // messages that are not handed over, or not acted on
}

func sessionOf(m *control.Message) store.SessionKey {
	return store.SessionKey{App: m.SourceApp, Session: m.SessionID}
}

// setState changes the state of a message, and keeps the counts of its session.
func (w Messages) setState(m *control.Message, state control.MessageState, actor string) error {
	before := m.State
	m.State = state
	if err := w.Store.UpdateMessage(m); err != nil {
		return err
	}
	key := sessionOf(m)
	w.Tx.AfterCommit(func() {
		if before == control.MessageSaved {
			w.Saved.Add(key, -1)
		}
		if state != control.MessageHandedOver {
			w.Open.Add(key, -1)
		}
	})
	if state == control.MessageActedOn {
		return nil
	}
	return w.Tx.AppendLedger(store.LedgerRecord{Action: "message." + string(state), Actor: actor, Data: MessageData{ID: m.ID, Event: m.Event}})
}

// Create implements the role Messages.
func (w Messages) Create(d *store.MessageDraft) (m control.Message, isNew bool, err error) {
	var key []byte
	if d.Key != "" {
		key = HashKey(d.From + "\x00" + d.Key)
		first, err := w.Store.Messages(w.Queries.WithKey, key)
		if err != nil {
			return m, false, err
		}
		if len(first) > 0 {
			m = first[0]
			if (control.MessageDraft{SourceApp: m.SourceApp, SessionID: m.SessionID, AgentID: m.AgentID, Text: m.Text}) != d.MessageDraft {
				return m, false, schema.ErrKeyConflict
			}
			return m, false, nil
		}
	}
	saved, err := w.Store.Messages(w.Queries.Saved, d.SessionID, d.SourceApp)
	if err != nil {
		return m, false, err
	}
	if len(saved) >= control.MaxWaitingMessages {
		return m, false, store.ErrManyWaiting
	}
	m = control.Message{
		State: control.MessageSaved, SourceApp: d.SourceApp, SessionID: d.SessionID, AgentID: d.AgentID,
		From: d.From, Text: d.Text, CreatedAt: schema.Millis(Millis(d.SentAt)),
	}
	if err := w.Store.InsertMessage(&m, key); err != nil {
		return m, false, err
	}
	w.Tx.AfterCommit(func() {
		w.Saved.Add(sessionOf(&m), 1)
		w.Open.Add(sessionOf(&m), 1)
	})
	return m, true, w.Tx.AppendLedger(store.LedgerRecord{Action: "message.saved", Actor: m.From, Data: MessageData{ID: m.ID, App: m.SourceApp, Session: m.SessionID}})
}

// Withdraw withdraws the message of a list of at most one, unless an agent has it.
func (w Messages) Withdraw(list []control.Message, by string) (m control.Message, err error) {
	switch {
	case len(list) == 0:
		return m, schema.ErrNotFound
	case list[0].State != control.MessageSaved:
		return m, schema.ErrHandedOver
	}
	m = list[0]
	return m, w.setState(&m, control.MessageWithdrawn, by)
}

// End ends the saved messages to a session that has ended.
func (w Messages) End(key store.SessionKey) error {
	saved, err := w.Store.Messages(w.Queries.Saved, key.Session, key.App)
	for i := range saved {
		if err == nil {
			err = w.setState(&saved[i], control.MessageExpired, ByHub)
		}
	}
	return err
}

// Advance applies the effect of an event on the messages to its session.
func (w Messages) Advance(e *store.Event, step *store.MessageStep) error {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if step == nil || !w.Open.Has(key.App, key.Session) {
		return nil
	}
	if step.ActedOn {
		handedOver, err := w.Store.Messages(w.Queries.HandedOver, key.Session, key.App, step.AgentID, e.ID)
		if err != nil {
			return err
		}
		for i := range handedOver {
			if err := w.setState(&handedOver[i], control.MessageActedOn, ""); err != nil {
				return err
			}
		}
	}
	if step.Ended {
		return w.End(key)
	}
	return nil
}

// HandOver adds the messages that wait for the event's agent, oldest first. A message
// whose sender may no longer send it is withdrawn.
func (w Messages) HandOver(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message || !w.Saved.Has(e.App, e.Session) {
		return nil
	}
	saved, err := w.Store.Messages(w.Queries.Saved, e.Session, e.App)
	if err != nil {
		return err
	}
	units := 0
	for i := range saved {
		m := &saved[i]
		if m.AgentID != r.AgentID {
			continue
		}
		if r.CanSend != nil && !r.CanSend(m.From, m.CreatedAt) {
			if err := w.setState(m, control.MessageWithdrawn, ByHub); err != nil {
				return err
			}
			continue
		}
		text := control.MessageText{ID: m.ID, From: m.From, Text: m.Text}
		if units += text.PromptUnits(); len(d.Messages) > 0 && units > control.MaxPromptUnits || len(d.Messages) == control.MaxHandedOver {
			return nil
		}
		m.HandedAt, m.Event = schema.Millis(Millis(w.Now)), e.ID
		if err := w.setState(m, control.MessageHandedOver, ByHub); err != nil {
			return err
		}
		d.Messages = append(d.Messages, text)
	}
	return nil
}

// Repeat adds the messages that were handed over with the event.
func (w Messages) Repeat(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message {
		return nil
	}
	list, err := w.Store.Messages(w.Queries.OfEvent, e.ID)
	for _, m := range list {
		if m.AgentID == r.AgentID {
			d.Messages = append(d.Messages, control.MessageText{ID: m.ID, From: m.From, Text: m.Text})
		}
	}
	return err
}
