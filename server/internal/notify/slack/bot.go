// Package slack asks questions in Slack channels and takes the answers by buttons. It connects to
// Slack only, by its Web API and Socket Mode; Slack does not connect to the hub.
//
// Every press is handled before it is acknowledged. One that Slack delivers again finds the question
// settled or the button used.
package slack

import (
	"cmp"
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
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// bot is one Slack app, which belongs to one channel of the hub. It implements chat.Service.
type bot struct {
	*chat.Desk
	Address
	api client

	mu   sync.Mutex
	team string // the workspace of the bot; empty: not known yet
}

// New returns the bot of a channel. It connects when Run or Send is called.
func New(cfg chat.Config, a Address) *chat.Bot {
	desk := chat.NewDesk(Via, cfg)
	return &chat.Bot{Desk: desk, Service: &bot{Desk: desk, Address: a, api: client{cfg.HTTP, cmp.Or(cfg.API, "https://slack.com/api")}}}
}

// Run takes answers and updates messages until ctx ends.
func (b *bot) Run(ctx context.Context) error {
	return b.RunBot(ctx, chat.Reader{Read: b.listen, StopReason: stopReason}, b.update)
}

// listen reads answers from one connection. greeted reports whether Slack accepted it.
func (b *bot) listen(ctx context.Context) (greeted bool, err error) {
	greeted, err = b.listenOnce(ctx)
	if greeted && errors.Is(err, errRefresh) {
		return true, nil
	}
	return greeted, err
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
	var refused *chat.RefusalError
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
func (b *bot) workspace(ctx context.Context) (team string, err error) {
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
	if err := b.api.call(ctx, "auth.test", b.BotToken, struct{}{}, &me); err != nil {
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

// listenOnce reads answers until the connection ends, which is always an error.
func (b *bot) listenOnce(ctx context.Context) (greeted bool, err error) {
	if _, err := b.workspace(ctx); err != nil {
		return false, err
	}
	var opened struct {
		URL string `json:"url"`
	}
	if err := b.api.call(ctx, "apps.connections.open", b.AppToken, struct{}{}, &opened); err != nil {
		return false, err
	}
	if strings.HasPrefix(b.api.base, "https:") && !strings.HasPrefix(opened.URL, "wss:") {
		return false, errors.New("connect to slack: its socket is not encrypted")
	}
	dialCtx, cancel := context.WithTimeout(ctx, callTimeout)
	conn, _, err := websocket.Dial(dialCtx, opened.URL, &websocket.DialOptions{HTTPClient: b.api.http}) //nolint:bodyclose // the library closes it
	cancel()
	if err != nil {
		return false, errors.New("connect to slack: the socket did not open") // without the URL, which has a ticket
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(chat.MaxReply)
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
func (b *bot) handle(ctx context.Context, conn *websocket.Conn, e *envelope) error {
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
func (b *bot) tell(ctx context.Context, place, account, text string) {
	method, params := "chat.postEphemeral", map[string]any{"channel": place, "user": account, "text": Escape(text)}
	if strings.HasPrefix(place, "D") { // a direct message
		method = "chat.postMessage"
		delete(params, "user")
	}
	if err := b.api.call(ctx, method, b.BotToken, params, nil); err != nil && ctx.Err() == nil {
		b.Log.Warn("a confirmation was not sent", "channel", b.Channel, "err", err)
	}
}

// press handles a pressed button. A payload that is none is ignored.
func (b *bot) press(ctx context.Context, payload []byte) (place, account, text string, err error) {
	var p interaction
	if json.Unmarshal(payload, &p) != nil || p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].Type != "button" || p.Actions[0].Value == "" {
		return "", "", "", nil //nolint:nilerr // documented
	}
	team, err := b.workspace(ctx)
	if err != nil {
		return "", "", "", err
	}
	if !p.isFrom(team) {
		return p.Container.Channel, p.User.ID, otherWorkspace, nil
	}
	text, err = b.Press(ctx, p.Actions[0].Value, team+":"+p.User.ID)
	return p.Container.Channel, p.User.ID, text, err
}

// otherWorkspace is the text for a person of another workspace. A shared channel shows them the buttons, and
// their account can have the number of an account in the bot's workspace.
const otherWorkspace = "Only members of the bot's own Slack workspace can answer here. Nothing was decided."

// minCodeChars is the length below which a message is no code.
const minCodeChars = 16

// message links the account of a direct message with a code. In channels the bot ignores messages,
// because everyone there can read the code. It ignores a payload that is none.
func (b *bot) message(ctx context.Context, payload []byte) (place, account, text string, err error) {
	var c callback
	if json.Unmarshal(payload, &c) != nil {
		return "", "", "", nil //nolint:nilerr // documented
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
		return e.Channel, e.User, "This bot belongs to a Hookback hub. To link this account, open Settings, Preferences in the dashboard, choose Link a chat account, and send its code here.", nil
	}
	text, err = b.Link(ctx, code, team+":"+e.User, e.User)
	return e.Channel, e.User, text, err
}

// Send sends a message to the channels.
func (b *bot) Send(ctx context.Context, m *chat.Message) error {
	offer := b.Offer(m.Question)
	if offer.CanReply {
		offer = buttons.Offer{Refused: "it asks for a text"}
	}
	blocks := []any{section(m.Plain + "\n\nAnswer in the dashboard: " + offer.Refused + ".")}
	if offer.Refused == "" {
		blocks = []any{section(m.Headline), verbatim(offer.Text), section(m.Footer)}
	}
	if elements := b.elements(m, offer.Buttons); len(elements) > 0 {
		blocks = append(blocks, map[string]any{"type": "actions", "elements": elements})
	}
	for _, to := range b.Channels {
		sent, err := b.post(ctx, to, m.Headline, blocks)
		if err != nil {
			return err
		}
		if err := b.AddMessage(ctx, sent, m, b.update); err != nil {
			return err
		}
	}
	return nil
}

// SendText sends a message that is not about a question.
func (b *bot) SendText(ctx context.Context, text string) error {
	for _, to := range b.Channels {
		headline, _, _ := strings.Cut(text, "\n")
		if _, err := b.post(ctx, to, headline, []any{section(text)}); err != nil {
			return err
		}
	}
	return nil
}

// post sends blocks to a channel. Slack shows summary in its notifications.
func (b *bot) post(ctx context.Context, channel, summary string, blocks []any) (sent store.ChatMessage, err error) {
	var reply struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}
	err = b.api.call(ctx, "chat.postMessage", b.BotToken, map[string]any{
		"channel": channel, "text": Escape(summary), "blocks": blocks, "unfurl_links": false, "unfurl_media": false,
	}, &reply)
	return store.ChatMessage{Chat: reply.Channel, Message: reply.TS}, err
}

// update replaces a message by the question and its outcome. That removes its buttons.
func (b *bot) update(ctx context.Context, m store.ChatMessage, o chat.Outcome) error {
	blocks := []any{section(o.Result)}
	if o.Question != "" {
		blocks = []any{section(o.Headline), verbatim(o.Question), section(o.Result)}
	}
	return b.api.call(ctx, "chat.update", b.BotToken, map[string]any{
		"channel": m.Chat, "ts": m.Message, "text": Escape(o.Result), "blocks": blocks,
	}, nil)
}

// maxSectionChars is the length of a section that Slack accepts.
const maxSectionChars = 3000

// section is a paragraph without markup, mentions and emoji.
func section(text string) any {
	return map[string]any{"type": "section", "text": plain(buttons.Truncate(text, maxSectionChars))}
}

func plain(text string) any {
	return map[string]any{"type": "plain_text", "text": text, "emoji": false}
}

// verbatim shows text of an agent in a fixed-width font, unchanged.
func verbatim(text string) any {
	return map[string]any{"type": "rich_text", "elements": []any{map[string]any{
		"type": "rich_text_preformatted", "elements": []any{map[string]any{"type": "text", "text": text}},
	}}}
}

// elements are the buttons of a message: the answers and a link to the request.
func (b *bot) elements(m *chat.Message, offered []buttons.Button) (list []any) {
	for i, button := range offered {
		element := map[string]any{"type": "button", "action_id": fmt.Sprintf("answer_%d", i), "text": plain(button.Label), "value": b.Data(m, button.Answer)}
		switch button.Answer {
		case buttons.Approve:
			element["style"] = "primary"
		case buttons.Deny:
			element["style"] = "danger"
		}
		list = append(list, element)
	}
	if m.Link != "" {
		list = append(list, map[string]any{"type": "button", "action_id": "open", "text": plain("Open in Hookback"), "url": m.Link})
	}
	return list
}

// Escape escapes text for the members of the API that have markup.
var Escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace
