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
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// rig is a notifier over a real hub and a real database.
type rig struct {
	*Notifier
	t      *testing.T
	hub    *hub.Hub
	known  *auth.Service // to the hub; the notifier is told of people below
	db     string
	closed func()       // stops everything, once
	look   sync.Map     // :: person → true while they look
	since  sync.Map     // :: person → since when they are known; always, unless it says so
	now    atomic.Int64 // Unix ms; 0: the machine's clock
	pace   pace

	peopleMu sync.Mutex // channel workers read people while a test changes them
	people   []schema.Person

	// onShow, if set before start, runs before each write of a question's notifications.
	onShow func(schema.EventID)
}

func (r *rig) accounts() []schema.Person {
	r.peopleMu.Lock()
	defer r.peopleMu.Unlock()
	return slices.Clone(r.people)
}

func (r *rig) setAccounts(people ...schema.Person) {
	r.peopleMu.Lock()
	defer r.peopleMu.Unlock()
	r.people = people
}

// swift is the pace of tests: short pauses, and a timeout that no slow machine reaches.
var swift = pace{
	timeout: time.Minute, retries: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
	trip: 100, pause: time.Hour, longest: time.Hour, giveUp: time.Hour, show: 20 * time.Millisecond, slowest: 20 * time.Millisecond,
}

func setup(t *testing.T, people ...schema.Person) *rig {
	r := &rig{t: t, db: storetest.NewFile(t), people: people, pace: swift}
	r.start()
	t.Cleanup(func() { r.closed() })
	return r
}

func (r *rig) clock() time.Time {
	if ms := r.now.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Now()
}

// start runs a hub on the rig's database.
func (r *rig) start() {
	db, err := store.Open(context.Background(), store.Config{Path: r.db, ReserveFileBytes: -1, Clock: r.clock})
	require.NoError(r.t, err)
	r.known, err = auth.Open(context.Background(), auth.Config{Store: db, Clock: r.clock})
	require.NoError(r.t, err)
	var told *Notifier // not r's: another start gives it another one
	r.hub = hub.New(hub.Config{Store: db, People: r.known, Feed: feed.New(db.Head(), 4096, 16<<20), Clock: r.clock, LogAppended: func() { told.LogAppended() }})
	onShow, setNotifications := r.onShow, r.hub.SetNotifications
	if onShow == nil {
		onShow = func(schema.EventID) {}
	}
	told = New(Config{
		Store: db, Base: "https://hub.example.com", Clock: r.clock, PushAnywhere: true,
		SetNotifications: func(ctx context.Context, id schema.EventID, list []schema.Notification, counts *schema.NotificationCounts) error {
			onShow(id)
			return setNotifications(ctx, id, list, counts)
		},
		People: func(context.Context) ([]schema.Person, error) { return r.accounts(), nil },
		IdentityOf: func(name string) (auth.Identity, bool) {
			for _, p := range r.accounts() {
				if p.Name == name {
					return auth.Identity{Name: name, Role: p.Role, Via: "link"}, true
				}
			}
			return auth.Identity{}, false
		},
		CreatedAt: func(name string) time.Time {
			at, _ := r.since.Load(name)
			since, _ := at.(time.Time)
			return since
		},
		ResolveRecipients: func(to *schema.Recipients) ([]string, error) { return to.Members, nil },
		Watching:          func(person string) bool { _, looks := r.look.Load(person); return looks },
		pace:              r.pace,
	})
	r.Notifier = told
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	failed := make(chan error, 1)
	group.Go(func() { failed <- told.Run(ctx) })
	var once sync.Once
	r.closed = func() {
		once.Do(func() {
			cancel()
			group.Wait()
			require.NoError(r.t, <-failed)
			require.NoError(r.t, db.Close())
		})
	}
}

// owner makes somebody known to the hub itself, for questions that name people.
func (r *rig) owner(name string) {
	code, err := r.known.OwnerCode(r.t.Context())
	require.NoError(r.t, err)
	_, err = r.known.SignIn(r.t.Context(), auth.SignInAttempt{Code: code, Name: name})
	require.NoError(r.t, err)
}

// restart is a hub that was stopped and started again.
func (r *rig) restart() {
	r.closed()
	r.start()
}

func (r *rig) channel(url string) schema.Channel { return r.channelOf("", url) }

func (r *rig) channelOf(person, url string) schema.Channel {
	c, err := Draft(&schema.ChannelDraft{Name: fmt.Sprintf("channel %d", time.Now().UnixNano()), URL: url, Person: person}, "ada")
	require.NoError(r.t, err)
	require.NoError(r.t, r.AddChannel(r.t.Context(), c))
	shown := r.PublicChannel(c)
	shown.Secret = c.Secret
	return shown
}

// ask posts a question; more is further members of humanInTheLoop.
func (r *rig) ask(question string, more ...string) schema.EventID {
	text, err := json.Marshal(question)
	require.NoError(r.t, err)
	body := fmt.Sprintf(`{"source_app":"shop","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
		"humanInTheLoop":{"type":"permission","question":%s%s}}`, text, strings.Join(append([]string{""}, more...), ","))
	saved, err := r.hub.Ingest(r.t.Context(), []byte(body), hub.Caller{})
	require.NoError(r.t, err)
	r.hub.ResponseSent(saved.ID)
	return saved.ID
}

func (r *rig) answer(id schema.EventID) {
	yes := true
	_, err := r.hub.Respond(r.t.Context(), id, &schema.Response{Permission: &yes}, hub.Caller{})
	require.NoError(r.t, err)
}

func (r *rig) status(id schema.EventID) schema.Status {
	q, err := r.Store.Question(r.t.Context(), id)
	require.NoError(r.t, err)
	var st schema.Status
	require.NoError(r.t, json.Unmarshal(q.Status, &st))
	return st
}

// change gives a question another status, as a part of the hub does that is not ours.
func (r *rig) change(id schema.EventID, f func(*schema.Status)) {
	for range 20 {
		q, err := r.Store.Question(r.t.Context(), id)
		require.NoError(r.t, err)
		var st schema.Status
		require.NoError(r.t, json.Unmarshal(q.Status, &st))
		f(&st)
		st.Revision = q.Version + 1
		raw, err := json.Marshal(st)
		require.NoError(r.t, err)
		if err = r.Store.Apply(r.t.Context(), store.Change{Event: &q.Event, Version: q.Version, State: st.Status, Status: raw}); err == nil {
			return
		}
		require.ErrorIs(r.t, err, store.ErrConflict)
	}
	r.t.Fatal("the question changes too fast")
}

// eventually waits for a condition.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	require.Eventually(r.t, ok, 60*time.Second, 5*time.Millisecond, what)
}

// card waits until a card says this of its notices, in their order: state, or state
// and why.
func (r *rig) card(id schema.EventID, want ...string) []schema.Notification {
	r.t.Helper()
	var got []string
	var notices []schema.Notification
	if !waitFor(func() bool {
		notices, got = r.status(id).Notifications, nil
		for _, n := range notices {
			got = append(got, strings.TrimSpace(n.Kind+" "+n.Person+" "+n.State+" "+n.Why))
		}
		return strings.Join(got, "|") == strings.Join(want, "|")
	}) {
		require.Equal(r.t, want, got)
	}
	return notices
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

// far is a service on loopback that takes messages.
type far struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	status atomic.Int64 // what it answers; 0: 200
	block  chan struct{}
}

func listen(t *testing.T) *far {
	f := &far{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		f.mu.Lock()
		f.bodies, f.heads = append(f.bodies, string(body)), append(f.heads, req.Header.Clone())
		block := f.block
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

func (f *far) got() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.bodies...)
}

func (f *far) header(i int) http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heads[i]
}

// ntfy is the address of a topic at the service.
func (f *far) ntfy(topic string) string {
	return "ntfy://" + strings.TrimPrefix(f.URL, "http://") + "/" + topic + "?scheme=http"
}
