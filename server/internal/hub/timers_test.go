package hub

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// clockedHub is a hub with a manual clock.
type clockedHub struct {
	*testHub
	advanced *atomic.Int64
}

var clockedStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newClockedHub(t *testing.T, change ...func(*Config)) *clockedHub {
	t.Helper()
	return openClockedHub(t, storetest.NewFile(t), new(atomic.Int64), change...)
}

func openClockedHub(t *testing.T, path string, passed *atomic.Int64, change ...func(*Config)) *clockedHub {
	t.Helper()
	set := func(c *Config) { c.Clock = func() time.Time { return clockedStart.Add(time.Duration(passed.Load())) } }
	return &clockedHub{openTestHub(t, path, append([]func(*Config){set}, change...)...), passed}
}

// advance moves the clock forward and does the work that is due.
func (c *clockedHub) advance(d time.Duration) {
	c.t.Helper()
	c.advanced.Add(int64(d))
	for more, rounds := true, 0; more; rounds++ {
		require.Less(c.t, rounds, 50, "something is always due")
		var err error
		more, _, err = c.expireDue(c.t.Context())
		require.NoError(c.t, err)
	}
}

// ledgerActions returns the actions in the ledger about a question.
func (c *clockedHub) ledgerActions(id schema.EventID) (acts []string) {
	c.t.Helper()
	entries, err := c.Store.Ledger(c.t.Context(), store.LedgerPage{QuestionID: id, Limit: 50})
	require.NoError(c.t, err)
	for _, raw := range entries {
		_, act, _ := strings.Cut(string(raw), `"act":"`)
		act, _, _ = strings.Cut(act, `"`)
		acts = append(acts, act)
	}
	return acts
}

func TestReminders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		question string
		nudge    time.Duration
		want     []int // reminders after each minute
		end      schema.State
	}{
		"at its interval up to its maximum":        {`"timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3`, 0, []int{1, 2, 3, 3, 3}, schema.Pending},
		"not after its deadline":                   {`"timeout":150,"reminderIntervalSeconds":60,"reminderMaxCount":9`, 0, []int{1, 2, 2}, schema.TimedOut},
		"not if no response is required":           {`"timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3,"requiresResponse":false`, time.Minute, []int{0, 0}, schema.Pending},
		"none by default":                          {`"timeout":600`, time.Minute, []int{0, 0}, schema.Pending},
		"without a deadline at the hub's interval": {`"timeout":0`, time.Minute, []int{1, 2, 3, 3, 3}, schema.Pending},
		"without a deadline none by default":       {`"timeout":0`, 0, []int{0, 0}, schema.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newClockedHub(t, func(cfg *Config) { cfg.NudgeAfter = c.nudge })
			id, _ := h.ask(`{"question":"May I?","type":"permission",` + c.question + `}`)
			h.advance(59 * time.Second)
			require.Zero(t, h.status(id).Reminders)
			h.advance(time.Second)
			for i, want := range c.want {
				if i > 0 {
					h.advance(time.Minute)
				}
				require.Equal(t, want, h.status(id).Reminders, "after minute %d", i+1)
			}
			require.Equal(t, c.end, h.status(id).Status)
		})
	}
}

// TestReminders_MissedOnesCollapse: after downtime the hub sends one reminder and schedules
// the next from then.
func TestReminders_MissedOnesCollapse(t *testing.T) {
	t.Parallel()
	path := storetest.NewFile(t)
	h := openClockedHub(t, path, new(atomic.Int64), withPeople(t))
	id, _ := h.ask(`{"question":"May I?","type":"permission","timeout":86400,"reminderIntervalSeconds":60,"reminderMaxCount":20,
		"escalateAfterSeconds":300,"escalateTo":{"mode":"owner"}}`)
	require.NoError(t, h.Store.(store.Store).Close())
	h = openClockedHub(t, path, h.advanced)
	h.advance(time.Hour)
	require.Equal(t, 1, h.status(id).Reminders, "not sixty")
	require.Equal(t, schema.Millis(clockedStart.Add(time.Hour).UnixMilli()), h.status(id).EscalatedAt)
	h.advance(59 * time.Second)
	require.Equal(t, 1, h.status(id).Reminders)
	h.advance(time.Second)
	require.Equal(t, 2, h.status(id).Reminders)
}

// TestReminders_StopWhileAnswered: an answer in its undo window stops reminders too.
func TestReminders_StopWhileAnswered(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	const asked = `{"question":"May I?","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":5}`
	id, _ := h.ask(asked)
	h.advance(50 * time.Second)
	r := approval()
	r.HoldMS = 30_000
	_, err := h.Respond(t.Context(), id, r, Caller{})
	require.NoError(t, err)
	h.advance(20 * time.Second)
	require.Zero(t, h.status(id).Reminders)
	_, err = h.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	h.advance(2 * time.Minute)
	require.Equal(t, 1, h.status(id).Reminders, "an undone answer resumes reminders")

	done, _ := h.ask(asked)
	_, err = h.Respond(t.Context(), done, approval(), Caller{})
	require.NoError(t, err)
	h.advance(5 * time.Minute)
	require.Zero(t, h.status(done).Reminders)
}

func TestEscalation_IsMarkedOnce(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t, withPeople(t))
	id, _ := h.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":120,"escalateTo":{"mode":"owner_admins"}}`)
	h.advance(119 * time.Second)
	require.Zero(t, h.status(id).EscalatedAt)
	h.advance(time.Second)
	at := h.status(id).EscalatedAt
	require.Equal(t, schema.Millis(clockedStart.Add(2*time.Minute).UnixMilli()), at)
	h.advance(5 * time.Minute)
	require.Equal(t, at, h.status(id).EscalatedAt)
	require.Nil(t, h.status(id).Recipients, "a question for anyone gets no recipients")
	require.Equal(t, []string{"question.escalated"}, h.ledgerActions(id))
	h.advance(5 * time.Minute)
	require.Equal(t, schema.TimedOut, h.status(id).Status)
}

// TestEscalation_AddsRecipients: escalation adds people to the recipients once, never the
// requester, and keeps the number of required approvals.
func TestEscalation_AddsRecipients(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	h.setPeople("ada", "grace", "linus")
	id, _ := h.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":60,"escalateTo":{"mode":"owner_admins"}}`)
	_, err := h.transition(t.Context(), id, func(a *question.Snapshot) (*store.Change, error) {
		st := a.Status
		st.Recipients, st.Awaiting, st.RequiredApprovals = []string{"grace", "linus"}, []string{"linus"}, 2
		return statusChange(a, st)
	})
	require.NoError(t, err)
	h.advance(time.Minute)
	st := h.status(id)
	require.Equal(t, []string{"grace", "linus", "ada"}, st.Recipients)
	require.Equal(t, []string{"linus", "ada"}, st.Awaiting)
	require.Equal(t, 2, st.RequiredApprovals)
	page, err := h.query.Requests(t.Context(), query.InboxQuery{WaitingOnMe: true, InboxFilter: store.InboxFilter{Limit: 9}}, ada)
	require.NoError(t, err)
	require.Len(t, page.Requests, 1, "it waits on ada now")

	own, _ := h.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":60,"escalateTo":{"mode":"owner"}}`)
	_, err = h.transition(t.Context(), own, func(a *question.Snapshot) (*store.Change, error) {
		st := a.Status
		st.Recipients, st.Awaiting = []string{"grace"}, []string{"grace"}
		return statusChange(a, st)
	})
	require.NoError(t, err)
	_, err = h.transition(t.Context(), own, func(a *question.Snapshot) (*store.Change, error) {
		a.Requester = "ada"
		a.Deadline = time.Time{} // only the escalation is due
		return a.Expire(clockedStart.Add(time.Hour))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"grace"}, h.status(own).Recipients, "the requester is not added")
	require.NotZero(t, h.status(own).EscalatedAt)
}

func TestEscalation_RejectsUnknownTarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		people []func(*Config)
		to     string
		field  string
	}{
		"a hub without people": {nil, `{"mode":"owner"}`, "humanInTheLoop.escalateTo.mode"},
		"an unknown person":    {[]func(*Config){withPeople(t)}, `{"mode":"selected_members","members":["nobody"]}`, "humanInTheLoop.escalateTo.members"},
	} {
		h := newTestHub(t, c.people...)
		_, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":{"question":"May I?","type":"permission","escalateAfterSeconds":60,"escalateTo":`+c.to+`}`)), Caller{})
		require.ErrorIs(t, err, schema.ErrInvalid, name)
		require.Equal(t, c.field, schema.ProblemOf(err).Field, name)
	}
}

// TestReminders_OnlyForGroupLeader: a duplicate sends no reminders until it becomes the
// leader of its group.
func TestReminders_OnlyForGroupLeader(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	id, _ := h.ask(`{"question":"May I?","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":5}`)
	same := func(as schema.EventID) {
		_, err := h.transition(t.Context(), id, func(a *question.Snapshot) (*store.Change, error) {
			st := a.Status
			st.SameAs = as
			return statusChange(a, st)
		})
		require.NoError(t, err)
	}
	same(99)
	h.advance(2 * time.Minute)
	require.Zero(t, h.status(id).Reminders)
	same(0)
	h.advance(time.Minute)
	require.Equal(t, 1, h.status(id).Reminders)
}

// TestTimers_SurviveClockStep: timers count elapsed time, not wall clock time.
func TestTimers_SurviveClockStep(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		var set, last atomic.Int64
		passed := new(atomic.Int64)
		h := openClockedHub(t, storetest.NewFile(t), passed, func(c *Config) {
			c.Clock = func() time.Time { return clockedStart.Add(time.Duration(set.Load() + passed.Load())) }
			c.NudgeAfter = time.Minute
		}, withPeople(t))
		h.elapsed = func(time.Time, time.Time) time.Duration {
			return time.Duration(passed.Load() - last.Swap(passed.Load()))
		}
		limited, _ := h.ask(`{"question":"q","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3,"escalateAfterSeconds":90,"escalateTo":{"mode":"owner"}}`)
		never, _ := h.ask(`{"question":"q","type":"permission","timeout":0}`)
		h.advance(30 * time.Second)
		set.Store(int64(step))
		h.detectClockStep(t.Context())
		h.advance(29 * time.Second)
		require.Zero(t, h.status(limited).Reminders, "%v: not before its time", step)
		require.Zero(t, h.status(never).Reminders)
		h.advance(time.Second)
		require.Equal(t, 1, h.status(limited).Reminders, "%v: not after its time", step)
		require.Equal(t, 1, h.status(never).Reminders)
		require.Zero(t, h.status(limited).EscalatedAt)
		h.advance(30 * time.Second)
		require.NotZero(t, h.status(limited).EscalatedAt)
	}
}

// TestTimers_ShareOneGoroutine: timers use no goroutine each, and the deadline loop sends
// every reminder.
func TestTimers_ShareOneGoroutine(t *testing.T) {
	h := newClockedHub(t)
	h.startDeadlines()
	before := runtime.NumGoroutine()
	var ids []schema.EventID
	for i := range 40 {
		id, _ := h.ask(fmt.Sprintf(`{"question":"q%d","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3}`, i))
		ids = append(ids, id)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine()-before < 20 }, waitLimit, 5*time.Millisecond,
		"one goroutine per timer would be 40; those of queries end on their own")
	h.advanced.Add(int64(time.Minute))
	h.Feed.PublishFact(feed.Fact{Kinds: feed.Deadline})
	for _, id := range ids {
		changed, stop := h.subscribe(id)
		for h.status(id).Reminders == 0 {
			select {
			case <-changed:
			case <-time.After(waitLimit):
				t.Fatal("no reminder was sent")
			}
		}
		stop()
	}
}
