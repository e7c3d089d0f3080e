package hub

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	listenerV2 = `"protocolVersion":2,"listenerKey":"key","responseWebSocketUrl":"ws://127.0.0.1:50123/secret"`
	listenerV1 = `"responseWebSocketUrl":"ws://127.0.0.1:50123/secret"`
)

func TestExtend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		question string
		seconds  float64
		expires  time.Duration // after the question was asked; 0: never
		agent    schema.DeliveryState
	}{
		"a listener is notified":           {`"timeout":300,` + listenerV2, 900, 1200 * time.Second, schema.Queued},
		"an agent that pulls reads it":     {`"timeout":300`, 900, 1200 * time.Second, schema.NoDelivery},
		"no limit":                         {`"timeout":300,` + listenerV2, 0, 0, schema.Queued},
		"no limit for an agent that pulls": {`"timeout":300`, 0, 0, schema.NoDelivery},
		"up to the longest timeout":        {`"timeout":1`, schema.MaxTimeout.Seconds() - 1, schema.MaxTimeout, schema.NoDelivery},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newClockedHub(t)
			id, _ := h.ask(`{"question":"May I?","type":"permission",` + c.question + `}`)
			_, err := h.Extend(t.Context(), id, &schema.Extend{Seconds: c.seconds}, Caller{})
			require.NoError(t, err)
			st := h.status(id)
			require.Equal(t, c.agent, st.Extended.Agent)
			require.Equal(t, store.LocalName, st.Extended.By)
			require.Equal(t, []schema.EventID{id}, h.factIDs(feed.Deadline), "the dispatcher learns of it, and sends a deadline that is queued")
			require.Equal(t, []string{"question.extended"}, h.ledgerActions(id))
			h.advance(301 * time.Second)
			require.Equal(t, schema.Pending, h.status(id).Status, "the old deadline no longer applies")
			if c.expires == 0 {
				require.Zero(t, st.ExpiresAt)
				h.advance(schema.MaxTimeout)
				require.Equal(t, schema.Pending, h.status(id).Status)
				return
			}
			require.Equal(t, schema.Millis(clockedStart.Add(c.expires).UnixMilli()), st.ExpiresAt)
			h.advance(c.expires - 301*time.Second)
			require.Equal(t, schema.TimedOut, h.status(id).Status)
		})
	}
}

func TestExtend_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	v1, _ := h.ask(`{"question":"May I?","type":"permission",` + listenerV1 + `}`)
	never, _ := h.ask(`{"question":"May I?","type":"permission","timeout":0}`)
	open, _ := h.ask(pullQuestion)
	over, _ := h.ask(pullQuestion)
	_, err := h.Cancel(t.Context(), over, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		id      schema.EventID
		seconds float64
		want    error
	}{
		"a version 1 listener has its own timer":   {v1, 60, schema.ErrWrongAnswer},
		"a version 1 listener cannot wait forever": {v1, 0, schema.ErrWrongAnswer},
		"a settled question":                       {over, 60, schema.ErrExpired},
		"a negative number of seconds":             {open, -1, schema.ErrInvalid},
		"more than the longest timeout":            {open, schema.MaxTimeout.Seconds() + 1, schema.ErrInvalid},
		"more than the longest timeout in total":   {open, schema.MaxTimeout.Seconds(), schema.ErrInvalid},
		"an unknown question":                      {99, 60, schema.ErrNotFound},
	} {
		_, err := h.Extend(t.Context(), c.id, &schema.Extend{Seconds: c.seconds}, Caller{})
		require.ErrorIs(t, err, c.want, name)
		if c.id == v1 {
			var hint *schema.HintError
			require.ErrorAs(t, err, &hint)
			require.Contains(t, hint.Hint, "version 1")
		}
	}
	_, err = h.Extend(t.Context(), never, &schema.Extend{Seconds: 60}, Caller{})
	require.NoError(t, err, "a question without a limit accepts any extension")
	require.Zero(t, h.status(never).ExpiresAt)
	for _, id := range []schema.EventID{v1, open} {
		require.Equal(t, int64(1), h.status(id).Revision)
	}
}

// TestExtend_KeepsReminderPace: reminders keep their interval. A question whose limit is
// removed uses the hub's reminder interval instead.
func TestExtend_KeepsReminderPace(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t, func(c *Config) { c.NudgeAfter = time.Hour })
	const asked = `{"question":"May I?","type":"permission","timeout":90,"reminderIntervalSeconds":60,"reminderMaxCount":5}`
	longer, _ := h.ask(asked)
	never, _ := h.ask(asked)
	for id, s := range map[schema.EventID]float64{longer: 600, never: 0} {
		_, err := h.Extend(t.Context(), id, &schema.Extend{Seconds: s}, Caller{})
		require.NoError(t, err)
	}
	h.advance(time.Minute)
	h.advance(time.Minute)
	require.Equal(t, 2, h.status(longer).Reminders)
	require.Zero(t, h.status(never).Reminders, "the question's own reminders need a deadline")
	h.advance(58 * time.Minute)
	require.Equal(t, 1, h.status(never).Reminders)
}

// TestPull_ReportsMovedDeadline: a waiting pull returns as soon as the deadline moves.
func TestPull_ReportsMovedDeadline(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	id, secret := h.ask(pullQuestion)
	ends := make(chan time.Time, 10)
	returned := make(chan error, 1)
	go func() {
		answer, err := h.Pull(t.Context(), id, PullOptions{Wait: time.Minute, Secret: secret, OnDeadline: func(at time.Time) { ends <- at }})
		if answer != nil {
			err = errors.New("there is no answer yet")
		}
		returned <- err
	}()
	require.Equal(t, clockedStart.Add(schema.DefaultTimeout).UnixMilli(), (<-ends).UnixMilli())
	_, err := h.Extend(t.Context(), id, &schema.Extend{Seconds: 60}, Caller{})
	require.NoError(t, err)
	select {
	case err := <-returned:
		require.NoError(t, err)
	case <-time.After(waitLimit):
		t.Fatal("the pull still waits for the old deadline")
	}
	last := time.Time{}
	for len(ends) > 0 {
		last = <-ends
	}
	require.Equal(t, clockedStart.Add(schema.DefaultTimeout+time.Minute).UnixMilli(), last.UnixMilli())
}

func TestReportExecution_StoresFirstReport(t *testing.T) {
	t.Parallel()
	h := newClockedHub(t)
	id, secret := h.ask(pullQuestion)
	report := func(r schema.CallReport) error {
		_, err := h.ReportExecution(t.Context(), id, &r)
		return err
	}
	good := schema.CallReport{State: schema.ToolFailed, DurationMS: 1200, Error: "exit status 1", RequestSecret: secret}
	require.ErrorIs(t, report(good), schema.ErrUndecided)
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	for _, bad := range []schema.CallReport{
		{State: "done", RequestSecret: secret}, {State: schema.Succeeded, DurationMS: -1, RequestSecret: secret},
	} {
		require.ErrorIs(t, report(bad), schema.ErrInvalid)
	}
	for _, wrong := range []string{"", "guessed"} {
		require.ErrorIs(t, report(schema.CallReport{State: schema.Succeeded, RequestSecret: wrong}), schema.ErrForbidden)
	}
	require.Nil(t, h.status(id).Execution)
	require.NoError(t, report(good))
	require.Equal(t, &schema.Execution{State: schema.ToolFailed, DurationMS: 1200, Error: "exit status 1"}, h.status(id).Execution)
	require.NoError(t, report(schema.CallReport{State: schema.Succeeded, RequestSecret: secret}), "the first report stays")
	require.Equal(t, schema.ToolFailed, h.status(id).Execution.State)
}
