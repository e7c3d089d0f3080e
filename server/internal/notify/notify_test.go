package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
)

func TestMain(m *testing.M) {
	// A library's own connections end by themselves.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var (
	ada   = schema.Person{Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.com"}
	grace = schema.Person{Name: "grace", Role: schema.Operator, Email: "grace@example.com"}
	mute  = schema.Person{Name: "mute", Role: schema.Operator}
	eve   = schema.Person{Name: "eve", Role: schema.Viewer, Email: "eve@example.com"}
)

func TestAChannelIsToldOfAQuestionOnceAndTheCardSaysSo(t *testing.T) {
	t.Parallel()
	r, far := setup(t), listen(t)
	r.channel(far.ntfy("hookback"))
	id := r.ask("May I delete ./build?", `"toolCall":{"name":"Bash","arguments":{"command":"rm -r build"}}`)
	notices := r.card(id, "asked  sent")
	require.Equal(t, 1, notices[0].Attempts)
	require.Len(t, far.got(), 1)
	require.Contains(t, far.got()[0], "May I delete ./build?")
	require.Contains(t, far.got()[0], fmt.Sprintf("https://hub.example.com/r/%d", id))
	require.Equal(t, "shop asks for an answer", far.header(0).Get("Title"))

	r.change(id, func(st *schema.Status) { st.Waiter = schema.Lost })
	r.restart()
	second := r.ask("And ./dist?")
	r.card(second, "asked  sent")
	require.Len(t, far.got(), 2, "no change and no restart tells of the first one again")
}

func TestAQuestionThatWantsNoAnswerTellsNobody(t *testing.T) {
	t.Parallel()
	r, far := setup(t), listen(t)
	r.channel(far.ntfy("hookback"))
	quietly := r.ask("The build is done.", `"requiresResponse":false`)
	r.card(r.ask("May I?"), "asked  sent")
	require.Len(t, far.got(), 1)
	require.Empty(t, r.status(quietly).Notifications)
}

func TestRemindersAndEscalationsAreMessagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada, grace), listen(t)
	r.owner("ada")
	r.channel(far.ntfy("all"))
	r.channelOf("grace", far.ntfy("grace"))
	r.channelOf("ada", far.ntfy("ada"))
	id := r.ask("May I?", `"escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members","members":["ada"]}`)
	r.card(id, "asked  sent", "asked grace sent", "asked ada sent")
	r.change(id, func(st *schema.Status) {
		st.Recipients, st.Awaiting, st.Reminders = []string{"ada", "grace"}, []string{"grace"}, 1
	})
	r.card(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent")
	r.change(id, func(st *schema.Status) { st.Reminders = 2 })
	r.card(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent", "reminder  sent", "reminder grace sent")
	r.change(id, func(st *schema.Status) { st.EscalatedAt, st.Awaiting = 1, []string{"ada", "grace"} })
	r.card(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent",
		"reminder  sent", "reminder grace sent", "escalated  sent", "escalated ada sent")
	said := strings.Join(far.got(), "\n")
	require.Equal(t, 4, strings.Count(said, "shop is still waiting for an answer"))
	require.Equal(t, 2, strings.Count(said, "shop needs an answer, and nobody has given one"))
}

func TestOnlyWhoMayAnswerIsAsked(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada, eve, grace), listen(t)
	for _, person := range []string{"ada", "eve", "grace"} {
		r.channelOf(person, far.ntfy(person))
	}
	r.card(r.ask("May I?"), "asked ada sent", "asked grace sent")
}

func TestAServiceThatIsDownIsTriedAgainAndShown(t *testing.T) {
	t.Parallel()
	r, far := setup(t), listen(t)
	far.status.Store(503)
	r.channel(far.URL + "/in?token=verysecrettoken")
	id := r.ask("May I?")
	notices := r.card(id, "asked  failed")
	require.Equal(t, len(swift.retries)+1, notices[0].Attempts)
	require.Contains(t, notices[0].Error, "503")
	require.NotContains(t, notices[0].Error, "verysecret")
	require.NotContains(t, notices[0].Error, "127.0.0.1")
	require.Len(t, far.got(), 4, "tried again, and not for ever")
	ids := map[string]bool{}
	for i := range 4 {
		ids[far.header(i).Get("webhook-id")] = true
	}
	require.Len(t, ids, 1, "the same message each time")

	far.status.Store(404)
	id = r.ask("And this?")
	require.Equal(t, 1, r.card(id, "asked  failed")[0].Attempts, "what will not have it is not asked again")
	far.status.Store(302)
	require.Equal(t, 1, r.card(r.ask("And that?"), "asked  failed")[0].Attempts)
	require.Len(t, far.got(), 6, "no redirect is followed")
}

// The dead server holds each request until the test breaks the connection, so the other
// channel has sent its message while this one still waits.
func TestADeadChannelIsLeftAloneAndDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, db: t.TempDir() + "/hub.db", pace: swift}
	r.pace.trip, r.pace.retries, r.pace.timeout = 2, nil, time.Hour
	r.start()
	t.Cleanup(func() { r.closed() })
	dead, alive := listen(t), listen(t)
	dead.block = make(chan struct{})
	t.Cleanup(func() { close(dead.block) })
	c := r.channel(dead.URL)
	r.channel(alive.URL)
	for i := range 2 {
		id := r.ask(fmt.Sprint(i))
		r.eventually("the dead channel has the request", func() bool { return len(dead.got()) == i+1 })
		r.card(id, "asked  queued", "asked  sent")
		dead.CloseClientConnections()
		r.card(id, "asked  failed", "asked  sent")
	}
	for i := range 3 {
		r.card(r.ask(fmt.Sprint("more ", i)), "asked  queued", "asked  sent")
	}
	require.Len(t, dead.got(), 2, "it is left alone")
	stored, err := r.Store.Channels(t.Context())
	require.NoError(t, err)
	require.Equal(t, c.ID, stored[0].ID)
	require.Positive(t, r.PublicChannel(&stored[0]).Paused)
}

// A library may ignore its context. The channel waits no longer than the timeout, and
// after atOnce abandoned calls it makes no further ones.
func TestAChannelThatNeverReturnsTimesOut(t *testing.T) {
	t.Parallel()
	n := New(Config{pace: pace{timeout: time.Millisecond}})
	l := &lane{notifier: n}
	var calls atomic.Int64
	block := make(chan struct{})
	w := &way{send: func(context.Context, *message) error {
		calls.Add(1)
		<-block
		return nil
	}}
	for range 2 * atOnce {
		require.ErrorIs(t, l.try(t.Context(), w, &message{}), errSilent)
	}
	require.Eventually(t, func() bool { return calls.Load() == atOnce }, time.Minute, time.Millisecond)
	require.EqualValues(t, atOnce, l.stuck.Load())
	close(block)
	require.Eventually(t, func() bool { return l.stuck.Load() == 0 }, time.Minute, time.Millisecond)
	require.EqualValues(t, atOnce, calls.Load())
}

func TestAnAnswerMeanwhileKeepsMessagesBack(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, db: t.TempDir() + "/hub.db", pace: swift}
	r.pace.retries = []time.Duration{time.Hour / 2}
	r.start()
	t.Cleanup(func() { r.closed() })
	far := listen(t)
	far.status.Store(500)
	r.channel(far.URL)
	id := r.ask("May I?", `"timeout":0`)
	r.card(id, "asked  queued")
	r.answer(id)
	r.card(id, "asked  suppressed answered")
	require.Len(t, far.got(), 1)
}

func TestNobodyIsToldOfWhatWasAskedBeforeTheChannelWasMade(t *testing.T) {
	t.Parallel()
	r, far := setup(t), listen(t)
	old := r.ask("Before.")
	r.eventually("the cursor passes it", func() bool {
		cursor, err := r.Store.NotificationCursor(t.Context())
		return err == nil && cursor >= int64(old)
	})
	r.channel(far.URL)
	r.change(old, func(st *schema.Status) { st.Waiter = schema.Lost })
	r.card(r.ask("After."), "asked  sent")
	require.Empty(t, r.status(old).Notifications)
}

func TestAWebhookIsSignedAsItsStandardSays(t *testing.T) {
	t.Parallel()
	r, far := setup(t), listen(t)
	c := r.channel(far.URL + "/hooks")
	require.True(t, strings.HasPrefix(c.Secret, "whsec_"))
	id := r.ask(`<b>May I?</b>`, `"risk":"high"`)
	r.card(id, "asked  sent")
	verifier, err := standardwebhooks.NewWebhook(c.Secret)
	require.NoError(t, err)
	body := far.got()[0]
	require.NoError(t, verifier.Verify([]byte(body), far.header(0)))
	require.Error(t, verifier.Verify([]byte(body+" "), far.header(0)))
	var h hook
	require.NoError(t, json.Unmarshal([]byte(body), &h))
	require.Equal(t, "request.asked", h.Type)
	require.Equal(t, id, h.Data.ID)
	require.Equal(t, `<b>May I?</b>`, h.Data.Question, "JSON is no markup: it is as it was asked")
	require.Equal(t, schema.HighRisk, h.Data.Risk)
}
