package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// shower puts what became of notices on the cards, not one change for each: a card
// changes at most once in pace.show, and ever slower while there is ever more to say.
type shower struct {
	notifier *Notifier
	news     chan struct{}

	mu    sync.Mutex
	cards map[schema.EventID]*card
}

// card is a question whose notices have changed lately.
type card struct {
	next  time.Time // when it may be shown
	pause time.Duration
	dirty bool
}

func newShower(n *Notifier) *shower {
	return &shower{notifier: n, news: make(chan struct{}, 1), cards: map[schema.EventID]*card{}}
}

// touch notes that there is something to show.
func (s *shower) touch(id schema.EventID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cards[id]
	if c == nil {
		c = &card{pause: s.notifier.pace.show}
		c.next = time.Now().Add(c.pause)
		s.cards[id] = c
	}
	if c.dirty {
		return
	}
	c.dirty = true
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// due are the cards to show now, and how long until the next one is to be looked at.
// Cards that nothing happened to are forgotten.
func (s *shower) due(now time.Time) (ids []schema.EventID, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait = nap
	for id, c := range s.cards {
		switch left := c.next.Sub(now); {
		case left > 0:
			wait = min(wait, left)
		case !c.dirty:
			delete(s.cards, id)
		default:
			ids = append(ids, id)
			c.dirty = false
			c.pause = min(2*c.pause, s.notifier.pace.slowest)
			c.next = now.Add(c.pause)
			wait = min(wait, c.pause)
		}
	}
	return ids, wait
}

func (s *shower) run(ctx context.Context) {
	for ctx.Err() == nil {
		ids, wait := s.due(time.Now())
		for _, id := range ids {
			err := s.show(ctx, id)
			if err != nil && !errors.Is(err, schema.ErrNotFound) && ctx.Err() == nil {
				s.notifier.Log.Error("showing what became of messages", "question", id, "err", err)
				s.touch(id)
			}
		}
		if !sleep(ctx, wait, s.news) {
			return
		}
	}
}

func (s *shower) show(ctx context.Context, id schema.EventID) error {
	notices, err := s.notifier.Store.NotificationsOf(ctx, id)
	if err != nil || len(notices) == 0 {
		return err
	}
	list, counts := shown(notices)
	return s.notifier.SetNotifications(ctx, id, list, counts)
}

// shown is what a card says of its notices: the newest, and how many there are of each
// kind when that is not all.
func shown(notices []store.Notification) (list []schema.Notification, counts *schema.NotificationCounts) {
	slices.SortFunc(notices, func(a, b store.Notification) int { return cmp.Compare(a.ID, b.ID) })
	if len(notices) > schema.MaxNotifications {
		counts = &schema.NotificationCounts{}
		for i := range notices {
			switch notices[i].State {
			case schema.NotificationQueued:
				counts.Queued++
			case schema.NotificationSent:
				counts.Sent++
			case schema.NotificationSuppressed:
				counts.Suppressed++
			case schema.NotificationFailed:
				counts.Failed++
			}
		}
		notices = notices[len(notices)-schema.MaxNotifications:]
	}
	for i := range notices {
		list = append(list, notices[i].Notification)
	}
	return list, counts
}
