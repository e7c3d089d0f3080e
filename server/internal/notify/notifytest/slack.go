package notifytest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

const slackTeam = "T1"

// Slack is a workspace with one app that has a bot and Socket Mode.
type Slack struct {
	service
	BotToken, AppToken string

	messages   []*SlackMessage
	told       []SlackText
	envelopes  []envelope // not acknowledged
	nextID     int
	problems   map[string][]string
	cuts       int // acknowledgements that are lost with their connection
	opened     int
	disconnect chan string
}

type envelope struct {
	ID      string `json:"envelope_id"`
	Type    string `json:"type"`
	Payload any    `json:"payload"`
}

// SlackMessage is a message of the bot in a channel.
type SlackMessage struct {
	TS, Channel string
	Summary     string            // text of notifications
	Text        string            // of all blocks, in lines
	Verbatim    string            // of the preformatted blocks
	Buttons     map[string]string // label → value
	Links       map[string]string // label → URL
	Edits       int
}

// SlackText is a text that only one account sees.
type SlackText struct{ Channel, User, Text string }

// NewSlack starts a workspace.
func NewSlack(t *testing.T) *Slack {
	f := &Slack{ //nolint:gosec // tokens of the fake
		BotToken: "xoxb-1234567890-abcdefghij", AppToken: "xapp-1-A123-1234567890-abcdef",
		problems: map[string][]string{}, disconnect: make(chan string),
	}
	f.open(t, f.serve)
	return f
}

// Address returns the address of a channel with the app.
func (f *Slack) Address(channels string) string {
	return "slack://" + f.BotToken + ":" + f.AppToken + "@slack?channels=" + channels
}

// Refuse makes the next call of a method fail with an error of Slack.
func (f *Slack) Refuse(method, problem string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems[method] = append(f.problems[method], problem)
}

// CutNextAck loses the next acknowledgement together with its connection.
func (f *Slack) CutNextAck() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts++
}

// Disconnect ends the connection for a reason.
func (f *Slack) Disconnect(ctx context.Context, reason string) error {
	select {
	case f.disconnect <- reason:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Messages returns copies of the bot's messages.
func (f *Slack) Messages() (list []SlackMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.messages {
		list = append(list, *m)
	}
	return list
}

// Told returns the texts that only one account sees.
func (f *Slack) Told() []SlackText {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

// Unconfirmed returns how many envelopes the bot has not acknowledged.
func (f *Slack) Unconfirmed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.envelopes)
}

// Opened returns how many connections the bot has opened.
func (f *Slack) Opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// Press presses a button as an account of the workspace.
func (f *Slack) Press(user string, m *SlackMessage, value string) {
	f.PressAs(SlackAccount{slackTeam, slackTeam, user}, m, value)
}

// SlackAccount is an account of the workspace Home that acts in the workspace Team.
type SlackAccount struct{ Team, Home, ID string }

// PressAs presses a button as an account of any workspace.
func (f *Slack) PressAs(by SlackAccount, m *SlackMessage, value string) {
	f.push("interactive", map[string]any{
		"type": "block_actions", "team": map[string]any{"id": by.Team}, "user": map[string]any{"id": by.ID, "team_id": by.Home}, "container": map[string]any{"type": "message", "channel_id": m.Channel, "message_ts": m.TS},
		"actions": []any{map[string]any{"type": "button", "action_id": "answer_0", "value": value}},
	})
}

// Say sends a message of an account; kind is im for a direct message, or channel.
func (f *Slack) Say(user, kind, text string) {
	channel := "C1"
	if kind == "im" {
		channel = "D" + user
	}
	f.push("events_api", map[string]any{"event": map[string]any{"type": "message", "channel_type": kind, "channel": channel, "user": user, "text": text}})
}

func (f *Slack) push(kind string, payload any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextID++
	f.envelopes = append(f.envelopes, envelope{fmt.Sprintf("e%d", f.nextID), kind, payload})
	f.notify()
}

// slackParams are the parameters of all methods.
type slackParams struct {
	Channel string            `json:"channel"`
	User    string            `json:"user"`
	Text    string            `json:"text"`
	TS      string            `json:"ts"`
	Blocks  []json.RawMessage `json:"blocks"`
}

func (f *Slack) serve(w http.ResponseWriter, req *http.Request) {
	method := strings.TrimPrefix(req.URL.Path, "/")
	if method == "socket" {
		f.serveSocket(w, req)
		return
	}
	token := f.BotToken
	if method == "apps.connections.open" {
		token = f.AppToken
	}
	reply := map[string]any{"ok": true}
	var params slackParams
	failure, fails := f.nextFailure(method)
	problem := f.nextProblem(method)
	switch {
	case req.Header.Get("Authorization") != "Bearer "+token:
		problem = "invalid_auth"
	case json.NewDecoder(req.Body).Decode(&params) != nil:
		problem = "invalid_json"
	}
	if fails && failure.Code != 0 {
		if failure.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(failure.RetryAfter))
		}
		w.WriteHeader(failure.Code)
		return
	}
	if problem == "" {
		problem = f.call(method, &params, reply)
	}
	if problem != "" {
		reply = map[string]any{"ok": false, "error": problem}
	}
	if fails {
		panic(http.ErrAbortHandler) // the connection is cut
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

// call carries out a method and adds its result to reply.
func (f *Slack) call(method string, params *slackParams, reply map[string]any) (problem string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch method {
	case "auth.test":
		reply["team_id"], reply["user"], reply["user_id"] = slackTeam, "hookback", "U0"
	case "apps.connections.open":
		f.opened++
		reply["url"] = "ws" + strings.TrimPrefix(f.URL, "http") + "/socket?ticket=" + strconv.Itoa(f.opened)
	case "chat.postMessage", "chat.update":
		m := &SlackMessage{Channel: params.Channel, TS: fmt.Sprintf("17000000.%06d", len(f.messages)+1), Buttons: map[string]string{}, Links: map[string]string{}}
		if method == "chat.update" {
			i := slices.IndexFunc(f.messages, func(old *SlackMessage) bool { return old.TS == params.TS && old.Channel == params.Channel })
			if i < 0 {
				return "message_not_found"
			}
			m.TS, m.Edits = params.TS, f.messages[i].Edits+1
			defer func() { f.messages[i] = m }()
		} else {
			defer func() { f.messages = append(f.messages, m) }()
		}
		m.Summary = params.Text
		for _, raw := range params.Blocks {
			if problem := m.add(raw); problem != "" {
				return problem
			}
		}
		reply["channel"], reply["ts"] = m.Channel, m.TS
	case "chat.postEphemeral":
		f.told = append(f.told, SlackText{params.Channel, params.User, params.Text})
	default:
		return "unknown_method"
	}
	return ""
}

// add adds a block to a message, within Slack's limits.
func (m *SlackMessage) add(raw []byte) (problem string) {
	var block struct {
		Type string `json:"type"`
		Text struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"text"`
		Elements []struct {
			Type     string `json:"type"`
			URL      string `json:"url"`
			Value    string `json:"value"`
			Elements []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"elements"`
			Text struct {
				Text string `json:"text"`
			} `json:"text"`
		} `json:"elements"`
	}
	if json.Unmarshal(raw, &block) != nil {
		return "invalid_blocks"
	}
	switch block.Type {
	case "section":
		if block.Text.Type != "plain_text" || block.Text.Text == "" || len(block.Text.Text) > 3000 {
			return "invalid_blocks"
		}
		m.Text += block.Text.Text + "\n"
	case "rich_text":
		for _, part := range block.Elements {
			for _, text := range part.Elements {
				m.Text += text.Text + "\n"
				m.Verbatim += text.Text
			}
		}
	case "actions":
		for _, b := range block.Elements {
			switch {
			case len(b.Text.Text) == 0 || len([]rune(b.Text.Text)) > 75 || len(b.Value) > 2000 || len(b.URL) > 3000:
				return "invalid_blocks"
			case b.URL != "":
				m.Links[b.Text.Text] = b.URL
			default:
				m.Buttons[b.Text.Text] = b.Value
			}
		}
	default:
		return "invalid_blocks"
	}
	return ""
}

func (f *Slack) nextProblem(method string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.problems[method]
	if len(list) == 0 {
		return ""
	}
	f.problems[method] = list[1:]
	return list[0]
}

// serveSocket delivers the envelopes that are not acknowledged, and takes acknowledgements.
func (f *Slack) serveSocket(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, stop := context.WithCancel(req.Context())
	defer stop()
	if wsjson.Write(ctx, conn, map[string]any{"type": "hello", "num_connections": 1}) != nil {
		return
	}
	go func() {
		defer stop()
		for f.readAck(ctx, conn) {
		}
	}()
	sent := map[string]bool{}
	for {
		f.mu.Lock()
		waiting, changed := slices.Clone(f.envelopes), f.changed
		f.mu.Unlock()
		for _, e := range waiting {
			if !sent[e.ID] && wsjson.Write(ctx, conn, e) != nil {
				return
			}
			sent[e.ID] = true
		}
		select {
		case <-changed:
		case reason := <-f.disconnect:
			_ = wsjson.Write(ctx, conn, map[string]any{"type": "disconnect", "reason": reason})
			return
		case <-ctx.Done():
			return
		}
	}
}

// readAck reads an acknowledgement. It returns false if the connection ends.
func (f *Slack) readAck(ctx context.Context, conn *websocket.Conn) bool {
	var ack struct {
		ID string `json:"envelope_id"`
	}
	if wsjson.Read(ctx, conn, &ack) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cuts > 0 {
		f.cuts--
		return false
	}
	f.envelopes = slices.DeleteFunc(f.envelopes, func(e envelope) bool { return e.ID == ack.ID })
	return true
}
