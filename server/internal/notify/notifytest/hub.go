package notifytest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// Channel is the channel of the bot under test.
const Channel = 7

// Hub is a real hub with a real database, the owner ada, the operator grace and the viewer vic. It runs
// one bot.
type Hub struct {
	T     *testing.T
	Codes *chat.Codes
	Store store.Store
	Auth  *auth.Service
	Hub   *hub.Hub
	Bot   *chat.Bot
	Brief bool // from the next Open on

	BeforeAnswer func() error // runs before each answer of the bot
	AfterAnswer  func() error // runs after each stored answer

	file   string
	newBot func(chat.Config) *chat.Bot
	stop   func()
}

// NewHub starts a hub with a bot.
func NewHub(t *testing.T, newBot func(chat.Config) *chat.Bot) *Hub {
	h := &Hub{T: t, file: storetest.NewFile(t), newBot: newBot}
	h.Open()
	var people store.PeopleChange
	for i, name := range []string{"ada", "grace", "vic"} {
		role := map[string]schema.Role{"ada": schema.Admin, "grace": schema.Operator, "vic": schema.Viewer}[name]
		people.Persons = append(people.Persons, store.Person{Name: name, Role: role, Owner: i == 0, CreatedAt: time.UnixMilli(1)})
	}
	_, err := h.Store.ChangePeople(t.Context(), &people)
	h.check(err)
	h.Restart()
	return h
}

// RespondAs answers at the hub.
func (h *Hub) RespondAs(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) error {
	if h.BeforeAnswer != nil {
		if err := h.BeforeAnswer(); err != nil {
			return err
		}
	}
	if _, err := h.Hub.Respond(ctx, id, r, hub.Caller{Identity: by}); err != nil {
		return err
	}
	if h.AfterAnswer != nil {
		return h.AfterAnswer()
	}
	return nil
}

// Open starts the hub without the bot.
func (h *Hub) Open() {
	db := storetest.Open(h.T, storetest.Options{File: h.file})
	people, err := auth.Open(context.Background(), auth.Config{Store: db})
	h.check(err)
	log := feed.New(db.Head(), 4096, 16<<20)
	h.Store, h.Auth, h.Codes = db, people, &chat.Codes{Flows: flows.Flows{Store: db, Clock: time.Now}}
	h.Hub = hub.New(hub.Config{Store: db, People: people, Feed: log})
	h.Bot = h.newBot(chat.Config{
		Channel: Channel, IsBrief: h.Brief, Store: db, Hub: h, Accounts: people, Feed: log, Codes: h.Codes,
		Key: db.Identity().Subkey("chat buttons"), Clock: time.Now, Log: slog.New(slog.NewTextHandler(h.T.Output(), nil)),
	})
	h.stop = func() { h.check(db.Close()) }
}

// Run starts the bot.
func (h *Hub) Run() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	failed := make(chan error, 1)
	bot, closeStore := h.Bot, h.stop
	group.Go(func() { failed <- bot.Run(ctx) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
		h.check(<-failed)
		closeStore()
	})
	h.T.Cleanup(h.stop)
}

// Stop stops bot and hub.
func (h *Hub) Stop() { h.stop() }

// Restart stops hub and bot and starts them again.
func (h *Hub) Restart() {
	h.stop()
	h.Open()
	h.Run()
}

// check fails the test if err is an error.
func (h *Hub) check(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Error(err)
	}
}

// Ask stores a question and sends the message about it. more are further members.
func (h *Hub) Ask(kind, payload, more string) schema.EventID {
	h.T.Helper()
	body := fmt.Sprintf(`{"source_app":"shop","session_id":"s","hook_event_type":"PermissionRequest","payload":%s,
		"humanInTheLoop":{"type":%q,"question":"Shall I?"%s}}`, payload, kind, more)
	saved, err := h.Hub.Ingest(h.T.Context(), []byte(body), hub.Caller{})
	h.check(err)
	h.Hub.ResponseSent(saved.ID)
	h.check(h.Bot.Send(h.T.Context(), h.Message(saved.ID)))
	return saved.ID
}

// Message returns the notification about a question.
func (h *Hub) Message(id schema.EventID) *chat.Message {
	return &chat.Message{
		Notice: int64(id), Question: h.Question(id), Headline: "shop asks for an answer", Footer: "https://hub.example/r/1",
		Link: "https://hub.example/r/1", Plain: "shop asks for an answer\n\nhttps://hub.example/r/1",
	}
}

// Question returns a stored question.
func (h *Hub) Question(id schema.EventID) *buttons.Question {
	stored, err := h.Store.Question(h.T.Context(), id)
	h.check(err)
	q, err := buttons.Read(stored)
	h.check(err)
	return q
}
