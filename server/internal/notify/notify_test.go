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
	"github.com/hookback/hookback/server/internal/store"
)

func TestMain(m *testing.M) {
	// Idle connections of the HTTP client end by themselves.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var (
	ada   = schema.Person{Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.com"}
	grace = schema.Person{Name: "grace", Role: schema.Operator, Email: "grace@example.com"}
	mute  = schema.Person{Name: "mute", Role: schema.Operator}
	eve   = schema.Person{Name: "eve", Role: schema.Viewer, Email: "eve@example.com"}
)

func TestNotifier_NotifiesOncePerQuestion(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	h.addChannel(server.ntfyURL("hookback"))
	id := h.askQuestion("May I delete ./build?", `"toolCall":{"name":"Bash","arguments":{"command":"rm -r build"}}`)
	notifications := h.requireNotifications(id, "asked  sent")
	require.Equal(t, 1, notifications[0].Attempts)
	require.Len(t, server.requests(), 1)
	require.Contains(t, server.requests()[0], "May I delete ./build?")
	require.Contains(t, server.requests()[0], fmt.Sprintf("https://hub.example.com/r/%d", id))
	require.Equal(t, "shop asks for an answer", server.requestHeader(0).Get("Title"))

	h.changeStatus(id, func(st *schema.Status) { st.Waiter = schema.Lost })
	h.restart()
	second := h.askQuestion("And ./dist?")
	h.requireNotifications(second, "asked  sent")
	require.Len(t, server.requests(), 2, "neither a change nor a restart repeats the first notification")
}

func TestNotifier_SkipsQuestionsWithoutResponse(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	h.addChannel(server.ntfyURL("hookback"))
	quietly := h.askQuestion("The build is done.", `"requiresResponse":false`)
	h.requireNotifications(h.askQuestion("May I?"), "asked  sent")
	require.Len(t, server.requests(), 1)
	require.Empty(t, h.status(quietly).Notifications)
}

func TestNotifier_SendsRemindersAndEscalations(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada, grace), startServer(t)
	h.signInOwner("ada")
	h.addChannel(server.ntfyURL("all"))
	h.addPersonalChannel("grace", server.ntfyURL("grace"))
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	id := h.askQuestion("May I?", `"escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members","members":["ada"]}`)
	h.requireNotifications(id, "asked  sent", "asked grace sent", "asked ada sent")
	h.changeStatus(id, func(st *schema.Status) {
		st.Recipients, st.Awaiting, st.Reminders = []string{"ada", "grace"}, []string{"grace"}, 1
	})
	h.requireNotifications(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent")
	h.changeStatus(id, func(st *schema.Status) { st.Reminders = 2 })
	h.requireNotifications(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent", "reminder  sent", "reminder grace sent")
	h.changeStatus(id, func(st *schema.Status) { st.EscalatedAt, st.Awaiting = 1, []string{"ada", "grace"} })
	h.requireNotifications(id, "asked  sent", "asked grace sent", "asked ada sent", "reminder  sent", "reminder grace sent",
		"reminder  sent", "reminder grace sent", "escalated  sent", "escalated ada sent")
	bodies := strings.Join(server.requests(), "\n")
	require.Equal(t, 4, strings.Count(bodies, "shop is still waiting for an answer"))
	require.Equal(t, 2, strings.Count(bodies, "shop needs an answer, and no one has given one"))
}

func TestNotifier_SkipsViewers(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada, eve, grace), startServer(t)
	for _, person := range []string{"ada", "eve", "grace"} {
		h.addPersonalChannel(person, server.ntfyURL(person))
	}
	h.requireNotifications(h.askQuestion("May I?"), "asked ada sent", "asked grace sent")
}

func TestChannelWorker_RetriesThenFails(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	server.status.Store(503)
	h.addChannel(server.URL + "/in?token=verysecrettoken")
	id := h.askQuestion("May I?")
	notifications := h.requireNotifications(id, "asked  failed")
	require.Equal(t, len(fastTiming.retries)+1, notifications[0].Attempts)
	require.Contains(t, notifications[0].Error, "503")
	require.NotContains(t, notifications[0].Error, "verysecret")
	require.NotContains(t, notifications[0].Error, "127.0.0.1")
	require.Len(t, server.requests(), 4, "a limited number of retries")
	require.EqualValues(t, 3, h.Outcomes()["retry"].Load())
	require.EqualValues(t, 1, h.Outcomes()[schema.NotificationFailed].Load())
	ids := map[string]bool{}
	for i := range 4 {
		ids[server.requestHeader(i).Get("webhook-id")] = true
	}
	require.Len(t, ids, 1, "the same message each time")

	server.status.Store(404)
	id = h.askQuestion("And this?")
	require.Equal(t, 1, h.requireNotifications(id, "asked  failed")[0].Attempts, "a permanent error is not retried")
	server.status.Store(302)
	require.Equal(t, 1, h.requireNotifications(h.askQuestion("And that?"), "asked  failed")[0].Attempts)
	require.Len(t, server.requests(), 6, "no redirect is followed")
}

// The dead server holds each request until the test breaks the connection. The other
// channel therefore sends its message while this one still waits.
func TestChannelWorker_OpensCircuitBreaker(t *testing.T) {
	t.Parallel()
	h := newHarnessWith(t, func(h *harness) { h.timing.breakerThreshold, h.timing.retries, h.timing.timeout = 2, nil, time.Hour })
	dead, alive := startServer(t), startServer(t)
	dead.hold = make(chan struct{})
	t.Cleanup(func() { close(dead.hold) })
	c := h.addChannel(dead.URL)
	h.addChannel(alive.URL)
	for i := range 2 {
		id := h.askQuestion(fmt.Sprint(i))
		h.eventually("the dead channel has the request", func() bool { return len(dead.requests()) == i+1 })
		h.requireNotifications(id, "asked  queued", "asked  sent")
		dead.CloseClientConnections()
		h.requireNotifications(id, "asked  failed", "asked  sent")
	}
	for i := range 3 {
		h.requireNotifications(h.askQuestion(fmt.Sprint("more ", i)), "asked  queued", "asked  sent")
	}
	require.Len(t, dead.requests(), 2, "the circuit breaker is open")
	stored, err := h.Store.Channels(t.Context())
	require.NoError(t, err)
	require.Equal(t, c.ID, stored[0].ID)
	require.Positive(t, h.PublicChannel(&stored[0]).Paused)
}

// A library may ignore its context. The channel waits no longer than the timeout, and
// after maxConcurrent abandoned calls it makes no further ones.
func TestChannelWorker_TimesOut(t *testing.T) {
	t.Parallel()
	d := &slowDriver{block: make(chan struct{})}
	k := newCore(Config{timing: timing{timeout: time.Millisecond}})
	l := newChannelWorker(&outlet{core: k, target: target{driver: d}, channel: &store.Channel{}}, newStatusBatcher(k))
	for range 2 * maxConcurrent {
		require.ErrorIs(t, l.sendWithTimeout(t.Context(), &message{}), errTimeout)
	}
	require.Eventually(t, func() bool { return d.calls.Load() == maxConcurrent }, time.Minute, time.Millisecond)
	require.EqualValues(t, maxConcurrent, l.abandonedCalls.Load())
	close(d.block)
	require.Eventually(t, func() bool { return l.abandonedCalls.Load() == 0 }, time.Minute, time.Millisecond)
	require.EqualValues(t, maxConcurrent, d.calls.Load())
}

// slowDriver ignores its context.
type slowDriver struct {
	invalid
	calls atomic.Int64
	block chan struct{}
}

func (d *slowDriver) send(context.Context, *outlet, *message) error {
	d.calls.Add(1)
	<-d.block
	return nil
}

func TestNotifier_AnswerSuppressesQueuedMessages(t *testing.T) {
	t.Parallel()
	h := newHarnessWith(t, func(h *harness) { h.timing.retries = []time.Duration{time.Hour / 2} })
	server := startServer(t)
	server.status.Store(500)
	h.addChannel(server.URL)
	id := h.askQuestion("May I?", `"timeout":0`)
	h.eventually("it is sent; it is queued before that, too", func() bool { return len(server.requests()) == 1 })
	h.requireNotifications(id, "asked  queued")
	h.approve(id)
	h.requireNotifications(id, "asked  suppressed answered")
	require.Len(t, server.requests(), 1)
}

func TestNewChannel_SkipsEarlierQuestions(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	old := h.askQuestion("Before.")
	h.addChannel(server.URL)
	h.changeStatus(old, func(st *schema.Status) { st.Waiter = schema.Lost })
	h.requireNotifications(h.askQuestion("After."), "asked  sent")
	require.Empty(t, h.status(old).Notifications)
}

// The cursor is stored rarely, but not so rarely that a new recipient gets earlier questions.
func TestNewChannel_SkipsEarlierQuestionsAfterRestart(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	h.addChannel(server.ntfyURL("first"))
	old := h.askQuestion("Before.")
	h.requireNotifications(old, "asked  sent")
	h.addChannel(server.ntfyURL("second"))
	h.restart()
	h.requireNotifications(h.askQuestion("After."), "asked  sent", "asked  sent")
	require.Len(t, h.status(old).Notifications, 1)
}

func TestWebhook_FollowsStandardWebhooks(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t), startServer(t)
	c := h.addChannel(server.URL + "/hooks")
	require.True(t, strings.HasPrefix(c.Secret, "whsec_"))
	id := h.askQuestion(`<b>May I?</b>`, `"risk":"high"`)
	h.requireNotifications(id, "asked  sent")
	verifier, err := standardwebhooks.NewWebhook(c.Secret)
	require.NoError(t, err)
	body := server.requests()[0]
	require.NoError(t, verifier.Verify([]byte(body), server.requestHeader(0)))
	require.Error(t, verifier.Verify([]byte(body+" "), server.requestHeader(0)))
	var payload webhookBody
	require.NoError(t, json.Unmarshal([]byte(body), &payload))
	require.Equal(t, "request.asked", payload.Type)
	require.Equal(t, id, payload.Data.ID)
	require.Equal(t, `<b>May I?</b>`, payload.Data.Question, "unescaped, because JSON is not markup")
	require.Equal(t, schema.HighRisk, payload.Data.Risk)
}
