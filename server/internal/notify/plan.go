package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// stepLimit is how many changes of questions are looked at together.
	stepLimit = 256
	// addAtOnce is how many notices are stored in one transaction: an answer that is
	// to be stored meanwhile waits for one of these at most.
	addAtOnce = 50
	// cursorEvery is how much of the log that says nothing may be looked at again.
	cursorEvery = 4096
)

// step looks at what happened behind the cursor; false when there was nothing.
func (n *Notifier) step(ctx context.Context, cursor *int64) (more bool, err error) {
	if *cursor < 0 {
		if *cursor, err = n.Store.NotificationCursor(ctx); err != nil {
			*cursor = -1
			return false, err
		}
	}
	ids, upTo, err := n.Store.QuestionsSince(ctx, *cursor, stepLimit)
	if err != nil || upTo == *cursor {
		return false, err
	}
	if len(ids) > 0 {
		if err := n.planAll(ctx, ids, *cursor); err != nil {
			return false, err
		}
	}
	if len(ids) > 0 || upTo-*cursor >= cursorEvery {
		if err := n.Store.SetNotificationCursor(ctx, upTo); err != nil {
			return false, err
		}
		*cursor = upTo
	}
	return len(ids) > 0, nil
}

// audience is who can be told, by which channels.
type audience struct {
	channels []store.Channel
	people   map[string]schema.Person
	pushed   map[string]bool // :: person → they have a browser that gets Web Push
}

func (n *Notifier) audience(ctx context.Context) (*audience, error) {
	a := &audience{people: map[string]schema.Person{}}
	var err, errPush error
	a.channels, err = n.Store.Channels(ctx)
	a.pushed, errPush = n.Store.PushSubscribers(ctx)
	people, errPeople := n.People(ctx)
	for _, p := range people {
		a.people[p.Name] = p
	}
	return a, errors.Join(err, errPush, errPeople)
}

func (n *Notifier) planAll(ctx context.Context, ids []schema.EventID, cursor int64) error {
	a, err := n.audience(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		q, err := n.read(ctx, id)
		if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNoQuestion) {
			continue // retention removed it meanwhile
		}
		if err != nil {
			return err
		}
		if q.status.Settled() {
			err = n.over(ctx, q)
		} else if len(a.channels) > 0 || len(a.pushed) > 0 {
			err = n.plan(ctx, a, q, int64(id) > cursor)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// question is one as read, decoded.
type question struct {
	*store.Question
	hitl   schema.HumanInTheLoop
	status schema.Status
}

func (n *Notifier) read(ctx context.Context, id schema.EventID) (*question, error) {
	stored, err := n.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	q := &question{Question: stored}
	if err := errors.Join(json.Unmarshal(stored.Event.Question, &q.hitl), json.Unmarshal(stored.Status, &q.status)); err != nil {
		return nil, fmt.Errorf("reading question %d: %w", id, err)
	}
	return q, nil
}

// over keeps back what was still to be said about a question that is settled, and
// takes back from browsers what they show.
func (n *Notifier) over(ctx context.Context, q *question) error {
	notices, err := n.Store.NotificationsOf(ctx, q.ID)
	if err != nil || len(notices) == 0 {
		return err
	}
	some, err := n.Store.SuppressNotifications(ctx, q.ID, schema.SuppressedAnswered)
	if some {
		n.shown.touch(q.ID)
	}
	if slices.ContainsFunc(notices, func(one store.Notification) bool { return one.Channel == 0 && one.State == schema.NotificationSent }) {
		n.settled(q.ID)
	}
	return err
}

// plan makes the notices that a pending question is due.
func (n *Notifier) plan(ctx context.Context, a *audience, q *question, isNew bool) error {
	if q.hitl.RequiresResponse != nil && !*q.hitl.RequiresResponse || q.status.SameAs != 0 {
		return nil
	}
	had, err := n.Store.NotificationProgress(ctx, q.ID)
	if err != nil {
		return err
	}
	if !isNew { // whom the first of its card spoke for is asked anew when that is gone
		if isNew, err = n.Store.BecameGroupLeader(ctx, q.ID); err != nil {
			return err
		}
	}
	done := had
	var due []store.Notification
	if isNew {
		due = a.notices(schema.NotificationCreated, 0, a.asked(q))
	}
	if q.status.Reminders > had.Reminders {
		done.Reminders = q.status.Reminders
		due = append(due, a.notices(schema.NotificationReminder, done.Reminders, a.awaited(q))...)
	}
	if q.status.EscalatedAt > 0 && !had.Escalated {
		done.Escalated = true
		to, err := n.ResolveRecipients(q.hitl.EscalateTo)
		if err != nil {
			n.Log.Warn("an escalation names people that are not there", "question", q.ID, "err", err)
		}
		due = append(due, a.notices(schema.NotificationEscalated, 0, to)...)
	}
	if len(due) == 0 && done == had {
		return nil
	}
	now := n.Clock()
	for i := range due {
		due[i].Due = now
	}
	return n.add(ctx, q.ID, due, done)
}

func (n *Notifier) add(ctx context.Context, id schema.EventID, due []store.Notification, done store.NotificationProgress) error {
	for len(due) > addAtOnce {
		if err := n.Store.AddNotifications(ctx, id, due[:addAtOnce], nil); err != nil {
			return err
		}
		n.wake(due[:addAtOnce])
		due = due[addAtOnce:]
	}
	if err := n.Store.AddNotifications(ctx, id, due, &done); err != nil {
		return err
	}
	n.wake(due)
	n.shown.touch(id)
	return nil
}

func (n *Notifier) wake(due []store.Notification) {
	for i := range due {
		if i == 0 || due[i].Channel != due[i-1].Channel {
			n.lane(due[i].Channel).wake()
		}
	}
}

// asked are the people whom a question is put to: those it names, or all who may
// answer.
func (a *audience) asked(q *question) []string {
	if len(q.status.Recipients) > 0 {
		return q.status.Recipients
	}
	var all []string
	for name, p := range a.people {
		if p.Role != schema.Viewer {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// awaited are those of them who have not voted.
func (a *audience) awaited(q *question) []string {
	if len(q.status.Recipients) > 0 {
		return q.status.Awaiting
	}
	return a.asked(q)
}

// notices are one for each channel that many read, and one for each person by each
// channel that is theirs, or that writes to everybody apart.
func (a *audience) notices(kind string, number int, people []string) (all []store.Notification) {
	add := func(c store.Channel, person string) {
		one := store.Notification{Channel: c.ID, N: number, Notification: schema.Notification{
			Channel: c.Name, Kind: kind, Person: person, State: schema.NotificationQueued,
		}}
		if writesApart(&c) && a.people[person].Email == "" {
			one.State, one.Why = schema.NotificationSuppressed, schema.SuppressedNoAddress
		}
		all = append(all, one)
	}
	for _, c := range a.channels {
		switch {
		case writesApart(&c):
			for _, person := range people {
				if c.Person == "" || c.Person == person {
					add(c, person)
				}
			}
		case c.Person == "" || slices.Contains(people, c.Person):
			add(c, c.Person)
		}
	}
	push := store.Channel{Name: pushName, Kind: pushName}
	if a.pushed[""] {
		add(push, "")
	}
	for _, person := range people {
		if a.pushed[person] {
			add(push, person)
		}
	}
	return all
}
