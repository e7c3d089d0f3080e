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
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// clocked is a hub whose time passes when it is told to.
type clocked struct {
	*bench
	passed *atomic.Int64
}

var dayOne = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func setupClocked(t *testing.T, change ...func(*Config)) *clocked {
	t.Helper()
	return openClocked(t, storetest.NewFile(t), new(atomic.Int64), change...)
}

func openClocked(t *testing.T, path string, passed *atomic.Int64, change ...func(*Config)) *clocked {
	t.Helper()
	set := func(c *Config) { c.Clock = func() time.Time { return dayOne.Add(time.Duration(passed.Load())) } }
	return &clocked{open(t, path, append([]func(*Config){set}, change...)...), passed}
}

// pass lets time pass, and does what is due then.
func (c *clocked) pass(d time.Duration) {
	c.t.Helper()
	c.passed.Add(int64(d))
	for more, rounds := true, 0; more; rounds++ {
		require.Less(c.t, rounds, 50, "something is due for ever")
		var err error
		more, _, err = c.expireDue(c.t.Context())
		require.NoError(c.t, err)
	}
}

// acts are the acts of the ledger about a question.
func (c *clocked) acts(id schema.EventID) (acts []string) {
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
		want     []int // how many after each minute
		end      schema.State
	}{
		"as often as it says, until its cap": {`"timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3`, 0, []int{1, 2, 3, 3, 3}, schema.Pending},
		"not behind its deadline":            {`"timeout":150,"reminderIntervalSeconds":60,"reminderMaxCount":9`, 0, []int{1, 2, 2}, schema.TimedOut},
		"not where no answer is wanted":      {`"timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3,"requiresResponse":false`, time.Minute, []int{0, 0}, schema.Pending},
		"none unless asked for":              {`"timeout":600`, time.Minute, []int{0, 0}, schema.Pending},
		"without a limit as the hub says":    {`"timeout":0`, time.Minute, []int{1, 2, 3, 3, 3}, schema.Pending},
		"without a limit none by default":    {`"timeout":0`, 0, []int{0, 0}, schema.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupClocked(t, func(cfg *Config) { cfg.NudgeAfter = c.nudge })
			id, _ := b.ask(`{"question":"May I?","type":"permission",` + c.question + `}`)
			b.pass(59 * time.Second)
			require.Zero(t, b.status(id).Reminders)
			b.pass(time.Second)
			for i, want := range c.want {
				if i > 0 {
					b.pass(time.Minute)
				}
				require.Equal(t, want, b.status(id).Reminders, "after minute %d", i+1)
			}
			require.Equal(t, c.end, b.status(id).Status)
		})
	}
}

// TestRemindersThatWereMissed: a hub that was down reminds once, and counts from now.
func TestRemindersThatWereMissed(t *testing.T) {
	t.Parallel()
	path := storetest.NewFile(t)
	b := openClocked(t, path, new(atomic.Int64), withPeople(t))
	id, _ := b.ask(`{"question":"May I?","type":"permission","timeout":86400,"reminderIntervalSeconds":60,"reminderMaxCount":20,
		"escalateAfterSeconds":300,"escalateTo":{"mode":"owner"}}`)
	require.NoError(t, b.Store.Close())
	b = openClocked(t, path, b.passed)
	b.pass(time.Hour)
	require.Equal(t, 1, b.status(id).Reminders, "not sixty")
	require.Equal(t, schema.Millis(dayOne.Add(time.Hour).UnixMilli()), b.status(id).EscalatedAt)
	b.pass(59 * time.Second)
	require.Equal(t, 1, b.status(id).Reminders)
	b.pass(time.Second)
	require.Equal(t, 2, b.status(id).Reminders)
}

// TestNobodyIsRemindedOfWhatIsAnswered: while an answer can be undone it is one.
func TestNobodyIsRemindedOfWhatIsAnswered(t *testing.T) {
	t.Parallel()
	b := setupClocked(t)
	const asked = `{"question":"May I?","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":5}`
	id, _ := b.ask(asked)
	b.pass(50 * time.Second)
	r := yes()
	r.HoldMS = 30_000
	_, err := b.Respond(t.Context(), id, r, Caller{})
	require.NoError(t, err)
	b.pass(20 * time.Second)
	require.Zero(t, b.status(id).Reminders)
	_, err = b.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	b.pass(2 * time.Minute)
	require.Equal(t, 1, b.status(id).Reminders, "it is a question again")

	done, _ := b.ask(asked)
	_, err = b.Respond(t.Context(), done, yes(), Caller{})
	require.NoError(t, err)
	b.pass(5 * time.Minute)
	require.Zero(t, b.status(done).Reminders)
}

func TestEscalationIsMarkedOnce(t *testing.T) {
	t.Parallel()
	b := setupClocked(t, withPeople(t))
	id, _ := b.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":120,"escalateTo":{"mode":"owner_admins"}}`)
	b.pass(119 * time.Second)
	require.Zero(t, b.status(id).EscalatedAt)
	b.pass(time.Second)
	at := b.status(id).EscalatedAt
	require.Equal(t, schema.Millis(dayOne.Add(2*time.Minute).UnixMilli()), at)
	b.pass(5 * time.Minute)
	require.Equal(t, at, b.status(id).EscalatedAt)
	require.Nil(t, b.status(id).Recipients, "everyone could answer before")
	require.Equal(t, []string{"question.escalated"}, b.acts(id))
	b.pass(5 * time.Minute)
	require.Equal(t, schema.TimedOut, b.status(id).Status)
}

// TestEscalationAddsPeople to those who were asked, once, and never who asked. How many
// have to agree stays.
func TestEscalationAddsPeople(t *testing.T) {
	t.Parallel()
	b := setupClocked(t, withPeople(t))
	id, _ := b.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":60,"escalateTo":{"mode":"owner_admins"}}`)
	_, err := b.transition(t.Context(), id, func(a *snapshot) (*store.Change, error) {
		a.status.Recipients, a.status.Awaiting, a.status.RequiredApprovals = []string{"grace", "linus"}, []string{"linus"}, 2
		return a.change(a.status)
	})
	require.NoError(t, err)
	b.pass(time.Minute)
	st := b.status(id)
	require.Equal(t, []string{"grace", "linus", "ada"}, st.Recipients)
	require.Equal(t, []string{"linus", "ada"}, st.Awaiting)
	require.Equal(t, 2, st.RequiredApprovals)
	page, err := b.Requests(t.Context(), Inbox{WaitingOnMe: true, InboxFilter: store.InboxFilter{Limit: 9}}, Caller{Who: ada})
	require.NoError(t, err)
	require.Len(t, page.Requests, 1, "it waits on her now")

	own, _ := b.ask(`{"question":"May I?","type":"permission","timeout":600,"escalateAfterSeconds":60,"escalateTo":{"mode":"owner"}}`)
	_, err = b.transition(t.Context(), own, func(a *snapshot) (*store.Change, error) {
		a.status.Recipients, a.status.Awaiting = []string{"grace"}, []string{"grace"}
		c, err := a.change(a.status)
		return c, err
	})
	require.NoError(t, err)
	_, err = b.transition(t.Context(), own, func(a *snapshot) (*store.Change, error) {
		a.Requester = "ada"
		return b.runTimers(a, dayOne.Add(time.Hour))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"grace"}, b.status(own).Recipients, "who asked does not answer")
	require.NotZero(t, b.status(own).EscalatedAt)
}

func TestEscalationToNobodyIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		people []func(*Config)
		to     string
		field  string
	}{
		"a hub without people": {nil, `{"mode":"owner"}`, "humanInTheLoop.escalateTo.mode"},
		"somebody unknown":     {[]func(*Config){withPeople(t)}, `{"mode":"selected_members","members":["nobody"]}`, "humanInTheLoop.escalateTo.members"},
	} {
		b := setup(t, c.people...)
		_, err := b.Ingest(t.Context(), []byte(with(`"humanInTheLoop":{"question":"May I?","type":"permission","escalateAfterSeconds":60,"escalateTo":`+c.to+`}`)), Caller{})
		require.ErrorIs(t, err, schema.ErrInvalid, name)
		require.Equal(t, c.field, schema.ProblemOf(err).Field, name)
	}
}

// TestOneSpeaksForThoseThatAskTheSame: nobody is reminded twice of one card, and the
// next one goes on when the first is gone.
func TestOneSpeaksForThoseThatAskTheSame(t *testing.T) {
	t.Parallel()
	b := setupClocked(t)
	id, _ := b.ask(`{"question":"May I?","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":5}`)
	same := func(as schema.EventID) {
		_, err := b.transition(t.Context(), id, func(a *snapshot) (*store.Change, error) {
			a.status.SameAs = as
			return a.change(a.status)
		})
		require.NoError(t, err)
	}
	same(99)
	b.pass(2 * time.Minute)
	require.Zero(t, b.status(id).Reminders)
	same(0)
	b.pass(time.Minute)
	require.Equal(t, 1, b.status(id).Reminders)
}

// TestTimersMoveWithTheClock: they count time that passes, whatever the wall clock says.
func TestTimersMoveWithTheClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		var set, last atomic.Int64
		passed := new(atomic.Int64)
		b := openClocked(t, storetest.NewFile(t), passed, func(c *Config) {
			c.Clock = func() time.Time { return dayOne.Add(time.Duration(set.Load() + passed.Load())) }
			c.NudgeAfter = time.Minute
		}, withPeople(t))
		b.elapsed = func(time.Time, time.Time) time.Duration {
			return time.Duration(passed.Load() - last.Swap(passed.Load()))
		}
		limited, _ := b.ask(`{"question":"q","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3,"escalateAfterSeconds":90,"escalateTo":{"mode":"owner"}}`)
		never, _ := b.ask(`{"question":"q","type":"permission","timeout":0}`)
		b.pass(30 * time.Second)
		set.Store(int64(step))
		b.detectClockStep(t.Context())
		b.pass(29 * time.Second)
		require.Zero(t, b.status(limited).Reminders, "%v: not before its time", step)
		require.Zero(t, b.status(never).Reminders)
		b.pass(time.Second)
		require.Equal(t, 1, b.status(limited).Reminders, "%v: nor behind it", step)
		require.Equal(t, 1, b.status(never).Reminders)
		require.Zero(t, b.status(limited).EscalatedAt)
		b.pass(30 * time.Second)
		require.NotZero(t, b.status(limited).EscalatedAt)
	}
}

// TestTimersCostNoGoroutineEach, and the one that there is does what is due.
func TestTimersCostNoGoroutineEach(t *testing.T) {
	b := setupClocked(t)
	b.ends()
	before := runtime.NumGoroutine()
	var ids []schema.EventID
	for i := range 40 {
		id, _ := b.ask(fmt.Sprintf(`{"question":"q%d","type":"permission","timeout":600,"reminderIntervalSeconds":60,"reminderMaxCount":3}`, i))
		ids = append(ids, id)
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine()-before < 20 }, 20*time.Second, 5*time.Millisecond,
		"one each would be 40; those of the queries end by themselves")
	b.passed.Add(int64(time.Minute))
	wake(b.deadlineChanged)
	for _, id := range ids {
		changed, stop := b.subscribe(id)
		for b.status(id).Reminders == 0 {
			select {
			case <-changed:
			case <-time.After(20 * time.Second):
				t.Fatal("nobody is reminded")
			}
		}
		stop()
	}
}
