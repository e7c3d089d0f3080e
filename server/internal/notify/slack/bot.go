// Package slack asks questions in Slack channels and takes the answers by buttons. It connects to
// Slack only, by its Web API and Socket Mode; Slack does not connect to the hub.
//
// Every press is handled before it is acknowledged. One that Slack delivers again finds the question
// settled or the button used.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/chat"
)

// Via is how a person's answer is recorded.
const Via = "slack"

// Config configures a Bot. All fields are required but API.
type Config struct {
	chat.Config
	Address
	HTTP *http.Client

	API string // default https://slack.com/api
}

// Bot is one Slack app, which belongs to one channel of the hub. It implements chat.Bot.
type Bot struct {
	*chat.Desk
	cfg Config
	api client

	mu   sync.Mutex
	team string // the workspace of the bot; empty: not known yet
}

// New returns a Bot. It connects when Run or Send is called.
func New(cfg Config) *Bot {
	if cfg.API == "" {
		cfg.API = "https://slack.com/api"
	}
	return &Bot{Desk: chat.NewDesk(Via, cfg.Config), cfg: cfg, api: client{cfg.HTTP, cfg.API}}
}

// Run takes answers and updates messages until ctx ends.
func (b *Bot) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() { b.listen(ctx) })
	return b.SettleMessages(ctx, b.update)
}

// listen connects and reads answers until ctx ends or Slack refuses the app.
func (b *Bot) listen(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil && b.Stopped() == "" {
		greeted, err := b.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if why := stopReason(err); why != "" {
			b.Stop(why)
			b.Log.Error("answers from slack stopped", "channel", b.Channel, "err", err)
			return
		}
		if greeted {
			failures = 0
		}
		if errors.Is(err, errRefresh) && greeted {
			continue
		}
		failures++
		delay := chat.RetryDelay(err, failures)
		b.Log.Warn("connection to slack ended", "channel", b.Channel, "retry_in", delay, "err", err)
		if !feed.Sleep(ctx, delay) {
			return
		}
	}
}

var (
	errRefresh  = errors.New("slack asks for a new connection")
	errSwitched = errors.New("slack has switched off the socket")
)

// stopReason returns why a bot can't read answers any more; empty: a repetition may succeed.
func stopReason(err error) string {
	if errors.Is(err, errSwitched) {
		return "Socket Mode of this Slack app is off. Switch it on in the app's settings, then add the channel again."
	}
	var refused *chat.Refusal
	if !errors.As(err, &refused) {
		return ""
	}
	switch refused.Code {
	case http.StatusUnauthorized, http.StatusNotFound:
		return "Slack does not accept the tokens of this app. Add the channel again with valid tokens."
	case http.StatusForbidden:
		return "This Slack app lacks a permission. The app token needs connections:write, and the bot token chat:write and im:history. Then add the channel again."
	default:
		return ""
	}
}

// workspace returns the workspace of the bot. Numbers of accounts are unique within one.
func (b *Bot) workspace(ctx context.Context) (team string, err error) {
	b.mu.Lock()
	team = b.team
	b.mu.Unlock()
	if team != "" {
		return team, nil
	}
	var me struct {
		Team   string `json:"team_id"`
		User   string `json:"user"`
		UserID string `json:"user_id"`
	}
	if err := b.api.call(ctx, "auth.test", b.cfg.BotToken, struct{}{}, &me); err != nil {
		return "", err
	}
	if me.Team == "" {
		return "", errors.New("slack did not name the workspace of the bot")
	}
	b.mu.Lock()
	b.team = me.Team
	b.mu.Unlock()
	b.SetName(me.User)
	return me.Team, nil
}

const (
	// pingInterval is how often an idle connection is checked.
	pingInterval = 30 * time.Second
	// ackTimeout limits the confirmation of a press.
	ackTimeout = 10 * time.Second
)

// listenOnce reads answers from one connection. greeted reports whether Slack accepted it.
func (b *Bot) listenOnce(ctx context.Context) (greeted bool, err error) {
	if _, err := b.workspace(ctx); err != nil {
		return false, err
	}
	var opened struct {
		URL string `json:"url"`
	}
	if err := b.api.call(ctx, "apps.connections.open", b.cfg.AppToken, struct{}{}, &opened); err != nil {
		return false, err
	}
	if strings.HasPrefix(b.cfg.API, "https:") && !strings.HasPrefix(opened.URL, "wss:") {
		return false, errors.New("connect to slack: its socket is not encrypted")
	}
	dialCtx, cancel := context.WithTimeout(ctx, callTimeout)
	conn, _, err := websocket.Dial(dialCtx, opened.URL, &websocket.DialOptions{HTTPClient: b.cfg.HTTP}) //nolint:bodyclose // the library closes it
	cancel()
	if err != nil {
		return false, errors.New("connect to slack: the socket did not open") // without the URL, which has a ticket
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxReply)
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { checkAlive(ctx, conn) })
	for {
		var e envelope
		if err := wsjson.Read(ctx, conn, &e); err != nil {
			return greeted, fmt.Errorf("read from slack: %w", err)
		}
		switch e.Type {
		case "hello":
			greeted = true
		case "disconnect":
			if e.Reason == "link_disabled" {
				return greeted, errSwitched
			}
			return greeted, errRefresh
		default:
			if err := b.handle(ctx, conn, &e); err != nil {
				return greeted, err
			}
		}
	}
}

// checkAlive closes a connection whose other end does not answer.
func checkAlive(ctx context.Context, conn *websocket.Conn) {
	for feed.Sleep(ctx, pingInterval) {
		ping, cancel := context.WithTimeout(ctx, callTimeout)
		err := conn.Ping(ping)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
}

// handle handles an envelope, acknowledges it, and shows the result. It fails if the envelope has to be
// handled again: Slack then shows the person that the press did not work.
func (b *Bot) handle(ctx context.Context, conn *websocket.Conn, e *envelope) error {
	var place, account, text string
	var err error
	switch e.Type {
	case "interactive":
		place, account, text, err = b.press(ctx, e.Payload)
	case "events_api":
		place, account, text, err = b.message(ctx, e.Payload)
	}
	if err != nil {
		return err
	}
	if e.ID != "" {
		ack, cancel := context.WithTimeout(ctx, ackTimeout)
		err = wsjson.Write(ack, conn, map[string]string{"envelope_id": e.ID})
		cancel()
	}
	if text != "" {
		b.tell(ctx, place, account, text)
	}
	return err
}

// tell shows a text to one account. A failure loses only a confirmation: the decision is stored.
func (b *Bot) tell(ctx context.Context, place, account, text string) {
	method, params := "chat.postEphemeral", map[string]any{"channel": place, "user": account, "text": escape(text)}
	if strings.HasPrefix(place, "D") { // a direct message
		method = "chat.postMessage"
		delete(params, "user")
	}
	if err := b.api.call(ctx, method, b.cfg.BotToken, params, nil); err != nil && ctx.Err() == nil {
		b.Log.Warn("a confirmation was not sent", "channel", b.Channel, "err", err)
	}
}

// press handles a pressed button. A payload that is none is ignored.
func (b *Bot) press(ctx context.Context, payload []byte) (place, account, text string, err error) {
	var p interaction
	if json.Unmarshal(payload, &p) != nil || p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].Type != "button" || p.Actions[0].Value == "" {
		return "", "", "", nil
	}
	team, err := b.workspace(ctx)
	if err != nil {
		return "", "", "", err
	}
	text, err = b.Press(ctx, p.Actions[0].Value, team+":"+p.User.ID)
	return p.Container.Channel, p.User.ID, text, err
}

// minCodeChars is the length below which a message is no code.
const minCodeChars = 16

// message links the account of a direct message with a code. In channels the bot ignores messages,
// because everyone there can read the code.
func (b *Bot) message(ctx context.Context, payload []byte) (place, account, text string, err error) {
	var c callback
	if json.Unmarshal(payload, &c) != nil {
		return "", "", "", nil
	}
	e := &c.Event
	if e.Type != "message" || e.ChannelType != "im" || e.Subtype != "" || e.Bot != "" || e.User == "" {
		return "", "", "", nil
	}
	team, err := b.workspace(ctx)
	if err != nil {
		return "", "", "", err
	}
	code := strings.TrimSpace(e.Text)
	if len(code) < minCodeChars || strings.ContainsAny(code, " \n") {
		return e.Channel, e.User, "This bot belongs to a Hookback hub. To link this account, open Notifications in the dashboard, choose Link a chat account, and send its code here.", nil
	}
	text, err = b.Link(ctx, code, team+":"+e.User, e.User)
	return e.Channel, e.User, text, err
}
