package notify

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxQuestionsPerStep is the batch size of changed questions.
	maxQuestionsPerStep = 256
	// maxRowsPerTransaction limits the rows stored in one transaction. An answer that
	// arrives in the meantime waits for at most one of them.
	maxRowsPerTransaction = 50
	// maxCursorLag is how many log entries may be read again after a crash. Planning them again
	// stores nothing, because notifications are unique.
	maxCursorLag = 4096
)

// planState is the progress of planning. While there are no recipients, nothing is planned, and
// the cursor is unknown: AddChannel and Subscribe move the stored one before they store the first
// recipient.
type planState struct {
	sync.Mutex
	hasRecipients bool  // a channel or a browser exists
	known         bool  // cursor and stored are read
	cursor        int64 // log position up to which notifications are planned
	stored        int64 // cursor in the database
}

// step plans notifications for the changes after the cursor. It returns false if there
// were none.
func (n *Notifier) step(ctx context.Context) (more bool, err error) {
	n.plan.Lock()
	defer n.plan.Unlock()
	p := &n.plan
	if !p.hasRecipients {
		return false, nil
	}
	if !p.known {
		if p.cursor, err = n.Store.NotificationCursor(ctx); err != nil {
			return false, err
		}
		p.stored, p.known = p.cursor, true
	}
	ids, upTo, err := n.Store.QuestionsSince(ctx, p.cursor, maxQuestionsPerStep)
	if err != nil || upTo == p.cursor {
		return false, err
	}
	if len(ids) > 0 {
		if err := n.planQuestions(ctx, ids, p.cursor); err != nil {
			return false, err
		}
	}
	p.cursor = upTo
	if p.cursor-p.stored >= maxCursorLag {
		err = n.saveCursorLocked(ctx)
	}
	return len(ids) > 0, err
}

// saveCursor stores the cursor. Questions up to it are not planned again for recipients who are
// added later.
func (n *Notifier) saveCursor(ctx context.Context) error {
	n.plan.Lock()
	defer n.plan.Unlock()
	return n.saveCursorLocked(ctx)
}

func (n *Notifier) saveCursorLocked(ctx context.Context) error {
	if !n.plan.known || n.plan.cursor == n.plan.stored {
		return nil
	}
	if err := n.Store.SetNotificationCursor(ctx, n.plan.cursor); err != nil {
		return err
	}
	n.plan.stored = n.plan.cursor
	return nil
}

// addRecipient stores a channel or a browser with add, and wakes the planner. The recipient is
// not notified of earlier questions.
func (n *Notifier) addRecipient(ctx context.Context, add func() error) error {
	n.plan.Lock()
	defer n.plan.Unlock()
	err := n.findRecipients(ctx) // another hub may plan
	switch {
	case err != nil:
	case n.plan.hasRecipients:
		err = n.saveCursorLocked(ctx)
	default:
		err = n.Store.SetNotificationCursor(ctx, n.Store.Head())
	}
	if err == nil {
		err = add()
	}
	if err != nil {
		return err
	}
	n.plan.hasRecipients = true
	if n.Feed != nil {
		n.Feed.PublishFact(feed.Fact{Kinds: feed.Channels})
	}
	return nil
}

// findRecipients looks for a first recipient. The caller holds the lock of the plan.
func (n *Notifier) findRecipients(ctx context.Context) error {
	r, err := n.loadRecipients(ctx)
	n.plan.hasRecipients = n.plan.hasRecipients || err == nil && len(r.channels)+len(r.pushSubscribers) > 0
	return err
}

// recipients are the people and channels that can be notified.
type recipients struct {
	channels        []*channelWorker
	filters         map[int64]schema.ChannelFilter // channel → the one that is stored now, if it selects
	people          map[string]schema.Person
	pushSubscribers map[string]bool // person → has a browser subscribed to Web Push
}

func (n *Notifier) loadRecipients(ctx context.Context) (*recipients, error) {
	r := &recipients{people: map[string]schema.Person{}, filters: map[int64]schema.ChannelFilter{}}
	channels, err := n.Store.Channels(ctx)
	for i := range channels {
		r.channels = append(r.channels, n.worker(&channels[i]))
		r.filters[channels[i].ID] = channels[i].Filter
	}
	var errPush error
	r.pushSubscribers, errPush = n.Store.PushSubscribers(ctx)
	for _, p := range n.Accounts.Accounts(ctx) {
		r.people[p.Name] = p
	}
	return r, errors.Join(err, errPush)
}

func (n *Notifier) planQuestions(ctx context.Context, ids []schema.EventID, cursor int64) error {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		return err
	}
	if len(r.channels) == 0 && len(r.pushSubscribers) == 0 { // the last one was removed
		n.plan.hasRecipients, n.plan.known = false, false
		return nil
	}
	for _, id := range ids {
		q, err := n.readQuestion(ctx, id)
		if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNoQuestion) {
			continue // removed by retention in the meantime
		}
		if err != nil {
			return err
		}
		if q.Status.IsSettled() {
			err = n.cancelPending(ctx, q)
		} else {
			err = n.planNotifications(ctx, r, q, int64(id) > cursor)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelPending suppresses the queued notifications of a settled question and clears the
// ones shown by browsers.
func (n *Notifier) cancelPending(ctx context.Context, q *buttons.Question) error {
	notifications, err := n.Store.NotificationsOf(ctx, q.ID)
	if err != nil || len(notifications) == 0 {
		return err
	}
	queued, isShown := 0, false
	for i := range notifications {
		switch notification := &notifications[i]; {
		case notification.State == schema.NotificationQueued:
			queued++
		case notification.Channel == 0 && notification.State == schema.NotificationSent:
			isShown = true
		}
	}
	if queued > 0 {
		var suppressed bool
		if suppressed, err = n.Store.SuppressNotifications(ctx, q.ID, schema.SuppressedAnswered); suppressed {
			n.outcomes[schema.NotificationSuppressed].Add(int64(queued))
			n.statuses.markChanged(q.ID)
		}
	}
	if isShown {
		n.group.Go(func() { n.clearNotification(ctx, q.ID) })
	}
	return err
}

// planNotifications stores the notifications that a pending question is due.
func (n *Notifier) planNotifications(ctx context.Context, r *recipients, q *buttons.Question, isNew bool) error {
	if q.Ask.RequiresResponse != nil && !*q.Ask.RequiresResponse || q.Status.SameAs != 0 || q.Status.Test {
		return nil
	}
	before, err := n.Store.NotificationProgress(ctx, q.ID)
	if err != nil {
		return err
	}
	if !isNew { // its group leader is gone, so this question now needs its own notification
		if isNew, err = n.Store.BecameGroupLeader(ctx, q.ID); err != nil {
			return err
		}
	}
	progress := before
	var due []store.Notification
	if isNew {
		due = r.notifications(q, schema.NotificationCreated, 0, r.forQuestion(q))
	}
	if q.Status.Reminders > before.Reminders {
		progress.Reminders = q.Status.Reminders
		due = append(due, r.notifications(q, schema.NotificationReminder, progress.Reminders, r.pendingVoters(q))...)
	}
	if q.Status.EscalatedAt > 0 && !before.Escalated {
		progress.Escalated = true
		to, err := n.hub.ResolveRecipients(q.Ask.EscalateTo)
		if err != nil {
			n.Log.Warn("escalation recipients not found", "question", q.ID, "err", err)
		}
		due = append(due, r.notifications(q, schema.NotificationEscalated, 0, to)...)
	}
	if len(due) == 0 && progress == before {
		return nil
	}
	now := n.Clock()
	for i := range due {
		due[i].Due = now
		if due[i].State == schema.NotificationSuppressed {
			n.outcomes[schema.NotificationSuppressed].Add(1)
		}
	}
	return n.addNotifications(ctx, q.ID, due, progress)
}

func (n *Notifier) addNotifications(
	ctx context.Context, id schema.EventID, due []store.Notification, progress store.NotificationProgress,
) error {
	for len(due) > maxRowsPerTransaction {
		if err := n.Store.AddNotifications(ctx, id, due[:maxRowsPerTransaction], nil); err != nil {
			return err
		}
		n.wakeWorkers(due[:maxRowsPerTransaction])
		due = due[maxRowsPerTransaction:]
	}
	if err := n.Store.AddNotifications(ctx, id, due, &progress); err != nil {
		return err
	}
	n.wakeWorkers(due)
	n.statuses.markChanged(id)
	return nil
}

// forQuestion returns the people to notify: the recipients of the question, or all
// approvers.
func (r *recipients) forQuestion(q *buttons.Question) []string {
	if len(q.Status.Recipients) > 0 {
		return q.Status.Recipients
	}
	var all []string
	for name, p := range r.people {
		if p.Role != schema.Viewer {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// pendingVoters returns the recipients who have not voted.
func (r *recipients) pendingVoters(q *buttons.Question) []string {
	if len(q.Status.Recipients) > 0 {
		return q.Status.Awaiting
	}
	return r.forQuestion(q)
}

// notifications returns one notification for each shared channel, and one per person for
// personal channels and for channels that send to each person.
func (r *recipients) notifications(q *buttons.Question, kind string, number int, people []string) (all []store.Notification) {
	add := func(c *store.Channel, person string, needsEmail bool) {
		notification := store.Notification{Channel: c.ID, ReminderNumber: number, Notification: schema.Notification{
			Channel: c.Name, Kind: kind, Person: person, State: schema.NotificationQueued,
		}}
		if needsEmail && r.people[person].Email == "" {
			notification.State, notification.Why = schema.NotificationSuppressed, schema.SuppressedNoAddress
		}
		all = append(all, notification)
	}
	for _, w := range r.channels {
		if filter := r.filters[w.channel.ID]; !r.selects(&filter, q) {
			continue
		}
		for _, person := range w.readers(people) {
			add(w.channel, person, w.perPerson)
		}
	}
	if r.pushSubscribers[""] {
		add(&pushChannel, "", false)
	}
	for _, person := range people {
		if r.pushSubscribers[person] {
			add(&pushChannel, person, false)
		}
	}
	return all
}

// IsAway reports whether the person has quiet hours now, and no page open. See hub.Reach.
func (n *Notifier) IsAway(ctx context.Context, person string) bool {
	settings, err := n.Store.NotificationSettings(ctx, person)
	return err == nil && inQuietHours(&settings, n.Clock()) && (n.Viewers == nil || !n.Viewers.IsViewing(person))
}

// Reachable returns how many notifications of any new question to everyone would be sent now: to people without quiet
// hours, through channels that are not paused and have no filter. See hub.Reach.
func (n *Notifier) Reachable(ctx context.Context) (count int) {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		n.Log.Error("notification channels not read; a request is treated as if there were none", "err", err)
		return 0
	}
	unknown, paused := new(buttons.Question), map[int64]bool{}
	for _, w := range r.channels {
		paused[w.channel.ID] = w.pausedUntil().After(n.Clock())
	}
	for _, notification := range r.notifications(unknown, "", 0, r.forQuestion(unknown)) {
		settings, err := n.Store.NotificationSettings(ctx, notification.Person)
		if err == nil && notification.State == schema.NotificationQueued &&
			!paused[notification.Channel] && !inQuietHours(&settings, n.Clock()) {
			count++
		}
	}
	return count
}
