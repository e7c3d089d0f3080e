package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// harness is a Notifier with a real hub and a real database.
type harness struct {
	*Notifier
	t         *testing.T
	hub       *hub.Hub
	auth      *auth.Service // the hub's accounts; the Notifier uses people below
	db        string
	stop      func()            // stops everything; safe to call twice
	watching  sync.Map          // person → true while watching
	apis      map[string]string // base URLs of Telegram and Slack; empty: the real ones
	createdAt sync.Map          // person → creation time; missing: always existed
	nowMS     atomic.Int64      // Unix ms; 0: system clock
	timing    timing

	peopleMu sync.Mutex // channel workers read people while a test changes them
	people   []schema.Person

	// onShow, if set before start, runs before each update of a question's notifications.
	onShow func(schema.EventID)
}

// chatCode returns a code of ada.
func (h *harness) chatCode() schema.ChatCode {
	code, err := h.NewChatCode(h.t.Context(), "ada")
	require.NoError(h.t, err)
	return code
}

func (h *harness) accounts() []schema.Person {
	h.peopleMu.Lock()
	defer h.peopleMu.Unlock()
	return slices.Clone(h.people)
}

func (h *harness) setAccounts(people ...schema.Person) {
	h.peopleMu.Lock()
	defer h.peopleMu.Unlock()
	h.people = people
}

// fastTiming has short pauses, and a timeout that no slow machine reaches.
var fastTiming = timing{
	timeout: time.Minute, retries: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
	breakerThreshold: 100, breakerPause: time.Hour, maxBreakerPause: time.Hour, maxAge: time.Hour,
	statusInterval: 20 * time.Millisecond, maxStatusInterval: 20 * time.Millisecond,
}

func newHarness(t *testing.T, people ...schema.Person) *harness {
	return newHarnessWith(t, func(*harness) {}, people...)
}

// newHarnessWith is newHarness with other settings.
func newHarnessWith(t *testing.T, set func(*harness), people ...schema.Person) *harness {
	h := &harness{t: t, db: storetest.NewFile(t), people: people, timing: fastTiming}
	set(h)
	h.start()
	return h
}

func (h *harness) now() time.Time {
	if ms := h.nowMS.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Now()
}

// loopbackGuard allows the servers of tests.
func loopbackGuard(t *testing.T) *netguard.Guard {
	guard, err := netguard.New(netguard.Config{Allow: []string{"127.0.0.1", "::1"}})
	require.NoError(t, err)
	return guard
}

// statusWriter is a Hub that runs before, if it is set, before each update of a question.
type statusWriter struct {
	Hub
	before func(schema.EventID)
}

func (w statusWriter) SetNotifications(
	ctx context.Context, id schema.EventID, list []schema.Notification, counts *schema.NotificationCounts,
) error {
	if w.before != nil {
		w.before(id)
	}
	return w.Hub.SetNotifications(ctx, id, list, counts)
}

// fakeAccounts are the harness's people.
type fakeAccounts struct{ h *harness }

func (f fakeAccounts) Accounts(context.Context) []schema.Person { return f.h.accounts() }

func (f fakeAccounts) IdentityOf(name, via string) (auth.Identity, bool) {
	for _, p := range f.h.accounts() {
		if p.Name == name {
			return auth.Identity{Name: name, Role: p.Role, Owner: p.Owner, Via: via}, true
		}
	}
	return auth.Identity{}, false
}

// CheckSignedIn accepts the cookie "cookie of NAME".
func (f fakeAccounts) CheckSignedIn(cookie, person string) error {
	if cookie != "cookie of "+person {
		return schema.ErrSignIn
	}
	return nil
}

func (f fakeAccounts) CreatedAt(name string) (time.Time, bool) {
	at, ok := f.h.createdAt.Load(name)
	since, _ := at.(time.Time)
	return since, ok
}

func (fakeAccounts) PasskeyThreshold() schema.PasskeyThreshold { return "" }

func (statusWriter) ResolveRecipients(to *schema.Recipients) ([]string, error) {
	return to.Members, nil
}

type fakeViewers struct{ h *harness }

func (f fakeViewers) IsViewing(person string) bool {
	_, looks := f.h.watching.Load(person)
	return looks
}

// start runs a hub on the harness's database.
func (h *harness) start() {
	db := storetest.Open(h.t, storetest.Options{File: h.db, Clock: h.now, Fast: true})
	var err error
	h.auth, err = auth.Open(context.Background(), auth.Config{Store: db, Clock: h.now})
	require.NoError(h.t, err)
	log := feed.New(db.Head(), 4096, 16<<20)
	h.hub = hub.New(hub.Config{Store: db, People: h.auth, Feed: log, Clock: h.now})
	notifier := New(Config{
		Store: db, Feed: log, Base: "https://hub.example.com", Clock: h.now, PushAnywhere: true, Guard: loopbackGuard(h.t),
		Accounts: fakeAccounts{h}, Viewers: fakeViewers{h}, timing: h.timing,
		apis: h.apis,
	})
	h.Notifier = notifier
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	failed := make(chan error, 1)
	group.Go(func() { failed <- notifier.Run(ctx, statusWriter{Hub: h.hub, before: h.onShow}) })
	group.Go(func() { _ = notifier.RunAnnouncements(ctx) })
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			cancel()
			group.Wait()
			require.NoError(h.t, <-failed)
			require.NoError(h.t, db.Close())
		})
	}
	h.t.Cleanup(h.stop) // before storetest closes the store, after a restart too
}

// signInOwner gives the hub an owner, for questions that name people.
func (h *harness) signInOwner(name string) {
	code, err := h.auth.OwnerCode(h.t.Context())
	require.NoError(h.t, err)
	_, err = h.auth.SignIn(h.t.Context(), auth.SignInAttempt{Code: code, Name: name})
	require.NoError(h.t, err)
}

// restart stops the hub and starts it again.
func (h *harness) restart() {
	h.stop()
	h.start()
}

func (h *harness) addChannel(url string) schema.Channel { return h.addPersonalChannel("", url) }

func (h *harness) addPersonalChannel(person, url string) schema.Channel {
	return h.addChannelBy("ada", person, url)
}

func (h *harness) addChannelBy(creator, person, url string) schema.Channel {
	c, err := NewChannel(&schema.ChannelDraft{Name: fmt.Sprintf("channel %d", time.Now().UnixNano()), URL: url, Person: person}, creator)
	require.NoError(h.t, err)
	require.NoError(h.t, h.AddChannel(h.t.Context(), c))
	shown := h.PublicChannel(c)
	shown.Secret = c.Secret
	return shown
}

// askQuestion posts a question; more holds further members of humanInTheLoop.
// harmlessCall is a call whose approval has no undo window.
const harmlessCall = `"toolCall":{"name":"Bash","arguments":{"command":"ls"}},"context":{"cwd":"/srv/shop"}`

func (h *harness) askQuestion(question string, more ...string) schema.EventID {
	text, err := json.Marshal(question)
	require.NoError(h.t, err)
	body := fmt.Sprintf(`{"source_app":"shop","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
		"humanInTheLoop":{"type":"permission","question":%s%s}}`, text, strings.Join(append([]string{""}, more...), ","))
	saved, err := h.hub.Ingest(h.t.Context(), []byte(body), hub.Caller{})
	require.NoError(h.t, err)
	h.hub.ResponseSent(saved.ID)
	return saved.ID
}

func (h *harness) approve(id schema.EventID) {
	yes := true
	_, err := h.hub.Respond(h.t.Context(), id, &schema.Response{Permission: &yes}, hub.Caller{})
	require.NoError(h.t, err)
}

func (h *harness) status(id schema.EventID) schema.Status {
	q, err := h.Store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	var st schema.Status
	require.NoError(h.t, json.Unmarshal(q.Status, &st))
	return st
}

// changeStatus changes a question's status as another part of the hub would.
func (h *harness) changeStatus(id schema.EventID, f func(*schema.Status)) {
	for range 20 {
		q, err := h.Store.Question(h.t.Context(), id)
		require.NoError(h.t, err)
		var st schema.Status
		require.NoError(h.t, json.Unmarshal(q.Status, &st))
		f(&st)
		st.Revision = q.Version + 1
		raw, err := json.Marshal(st)
		require.NoError(h.t, err)
		if err = h.Store.Apply(h.t.Context(), store.Change{Event: &q.Event, Version: q.Version, State: st.Status, Status: raw}); err == nil {
			return
		}
		require.ErrorIs(h.t, err, store.ErrConflict)
	}
	h.t.Fatal("the question changes too fast")
}

// requirePlanned waits until the notifications of a question are planned. Without a recipient, none
// are.
func (h *harness) requirePlanned(id schema.EventID) {
	h.t.Helper()
	h.eventually("the question is planned", func() bool {
		h.plan.Lock()
		defer h.plan.Unlock()
		return !h.plan.hasRecipients || h.plan.cursor >= int64(id)
	})
}

// eventually waits for a condition.
func (h *harness) eventually(what string, ok func() bool) {
	h.t.Helper()
	require.Eventually(h.t, ok, 60*time.Second, 5*time.Millisecond, what)
}

// requireNotifications waits until the question's notifications are exactly want, in
// order. Each is "kind person state" and, if suppressed, the reason.
func (h *harness) requireNotifications(id schema.EventID, want ...string) []schema.Notification {
	h.t.Helper()
	var got []string
	var notifications []schema.Notification
	if !waitFor(func() bool {
		notifications, got = h.status(id).Notifications, nil
		for _, n := range notifications {
			got = append(got, strings.TrimSpace(n.Kind+" "+n.Person+" "+n.State+" "+n.Why))
		}
		return strings.Join(got, "|") == strings.Join(want, "|")
	}) {
		require.Equal(h.t, want, got)
	}
	return notifications
}

func waitFor(ok func() bool) bool {
	tick, end := time.NewTicker(5*time.Millisecond), time.After(60*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}

// testServer is a service on loopback that records messages.
type testServer struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	status  atomic.Int64 // response status; 0: 200
	hold    chan struct{}
}

func startServer(t *testing.T) *testServer {
	f := &testServer{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		f.mu.Lock()
		f.bodies, f.headers = append(f.bodies, string(body)), append(f.headers, req.Header.Clone())
		block := f.hold
		f.mu.Unlock()
		if block != nil {
			select {
			case <-block:
			case <-req.Context().Done():
			}
		}
		if status := f.status.Load(); status != 0 {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(int(status))
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *testServer) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.bodies...)
}

func (f *testServer) requestHeader(i int) http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.headers[i]
}

// ntfyURL returns the channel URL of a topic on the server.
func (f *testServer) ntfyURL(topic string) string {
	return "ntfy://" + strings.TrimPrefix(f.URL, "http://") + "/" + topic + "?scheme=http"
}
