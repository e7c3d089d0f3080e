// Package notifytest runs chat services for tests: local servers that speak the real protocols.
package notifytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Telegram is a Bot API with one bot and private chats, in which the number of a chat is the number
// of its account.
type Telegram struct {
	service
	Token string

	updates  []map[string]any
	lastID   int64
	pollers  int
	messages []*TelegramMessage
	toasts   []string // texts of answered callback queries
}

// TelegramMessage is a message of the bot.
type TelegramMessage struct {
	ID         int64
	Chat       string
	Text       string
	Buttons    map[string]string // label → data
	ForceReply bool
	Edits      int
	Answers    int64 // the message that it replies to; 0: none
}

// NewTelegram starts a Bot API.
func NewTelegram(t *testing.T) *Telegram {
	f := &Telegram{Token: "123456:ABCdefGHIjklMNOpqrSTUvwxYZ123456789"}
	f.open(t, f.serve)
	return f
}

// Messages returns copies of the bot's messages.
func (f *Telegram) Messages() (list []TelegramMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.messages {
		list = append(list, *m)
	}
	return list
}

// Toasts returns the notices that the pressing accounts have seen.
func (f *Telegram) Toasts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.toasts)
}

// Pending returns how many failures of a method are left.
func (f *Telegram) Pending(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.failures[method])
}

// Press presses a button as an account.
func (f *Telegram) Press(account int64, m *TelegramMessage, data string) {
	f.push(map[string]any{"callback_query": map[string]any{
		"id": strconv.FormatInt(time.Now().UnixNano(), 10), "from": person(account), "data": data,
		"message": map[string]any{"message_id": m.ID, "chat": map[string]any{"id": account, "type": "private"}},
	}})
}

// Say sends a message of an account in its own chat; replyTo is a message of the bot or 0.
func (f *Telegram) Say(account int64, chatType, text string, replyTo int64) {
	f.sayIn(account, map[string]any{"id": account, "type": chatType}, text, replyTo)
}

// SayInGroup answers a message of the bot in a group.
func (f *Telegram) SayInGroup(account, group int64, text string, replyTo int64) {
	f.sayIn(account, map[string]any{"id": group, "type": "group"}, text, replyTo)
}

func (f *Telegram) sayIn(account int64, chat map[string]any, text string, replyTo int64) {
	m := map[string]any{"message_id": time.Now().UnixNano(), "from": person(account), "text": text, "chat": chat}
	if replyTo != 0 {
		m["reply_to_message"] = map[string]any{"message_id": replyTo, "chat": chat}
	}
	f.push(map[string]any{"message": m})
}

func person(account int64) map[string]any {
	return map[string]any{"id": account, "is_bot": false, "first_name": "Person " + strconv.FormatInt(account, 10)}
}

func (f *Telegram) push(update map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastID++
	update["update_id"] = f.lastID
	f.updates = append(f.updates, update)
	f.notify()
}

// Unconfirmed returns how many updates the bot has not confirmed.
func (f *Telegram) Unconfirmed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.updates)
}

// telegramParams are the parameters of all methods.
type telegramParams struct {
	Offset   int64  `json:"offset"`
	Chat     any    `json:"chat_id"`
	Message  int64  `json:"message_id"`
	Text     string `json:"text"`
	Callback string `json:"callback_query_id"`
	Reply    struct {
		Message int64 `json:"message_id"`
	} `json:"reply_parameters"`
	Markup struct {
		ForceReply bool `json:"force_reply"`
		Rows       [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

// send stores a message of the bot. problem is Telegram's reason to refuse it, or empty.
func (f *Telegram) send(params *telegramParams) (result any, problem string) {
	m := &TelegramMessage{
		Chat: chatName(params.Chat), Text: params.Text, ForceReply: params.Markup.ForceReply,
		Buttons: map[string]string{}, Answers: params.Reply.Message,
	}
	for _, row := range params.Markup.Rows {
		for _, b := range row {
			if len(b.Data) == 0 || len(b.Data) > 64 {
				return nil, "Bad Request: BUTTON_DATA_INVALID"
			}
			m.Buttons[b.Text] = b.Data
		}
	}
	if m.Text == "" || len(m.Text) > 4*4096 {
		return nil, "Bad Request: message is too long"
	}
	f.mu.Lock()
	m.ID = int64(len(f.messages) + 1)
	f.messages = append(f.messages, m)
	f.mu.Unlock()
	chat, _ := strconv.ParseInt(m.Chat, 10, 64)
	return map[string]any{"message_id": m.ID, "chat": map[string]any{"id": chat, "type": "private"}}, ""
}

func (f *Telegram) serve(w http.ResponseWriter, req *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/bot"), "/")
	if token != f.Token {
		refuse(w, Failure{Code: http.StatusUnauthorized}, "Unauthorized")
		return
	}
	var params telegramParams
	if err := json.NewDecoder(req.Body).Decode(&params); err != nil {
		refuse(w, Failure{Code: http.StatusBadRequest}, "Bad Request: can't parse JSON")
		return
	}
	failure, fails := f.nextFailure(method)
	if fails && failure.Code != 0 {
		refuse(w, failure, http.StatusText(failure.Code))
		return
	}
	var result any = true
	switch method {
	case "getMe":
		result = map[string]any{"id": 123456, "is_bot": true, "first_name": "Hookback", "username": "hookback_test_bot"}
	case "getUpdates":
		var ok bool
		if result, ok = f.poll(req, params.Offset); !ok {
			refuse(w, Failure{Code: http.StatusConflict}, "Conflict: terminated by other getUpdates request")
			return
		}
	case "sendMessage":
		var problem string
		if result, problem = f.send(&params); problem != "" {
			refuse(w, Failure{Code: http.StatusBadRequest}, problem)
			return
		}
	case "editMessageText":
		if !f.edit(params.Message, params.Text) {
			refuse(w, Failure{Code: http.StatusBadRequest}, "Bad Request: message to edit not found")
			return
		}
	case "answerCallbackQuery":
		f.mu.Lock()
		f.toasts = append(f.toasts, params.Text)
		f.mu.Unlock()
	default:
		refuse(w, Failure{Code: http.StatusNotFound}, "Not Found")
		return
	}
	if fails {
		panic(http.ErrAbortHandler) // the connection is cut
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func chatName(chat any) string {
	if number, ok := chat.(float64); ok {
		return strconv.FormatInt(int64(number), 10)
	}
	name, _ := chat.(string)
	return name
}

// poll returns the updates from offset, and forgets the earlier ones. It waits until there are some.
func (f *Telegram) poll(req *http.Request, offset int64) (updates []map[string]any, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pollers > 0 {
		return nil, false
	}
	f.pollers++
	defer func() { f.pollers-- }()
	for {
		f.updates = slices.DeleteFunc(f.updates, func(u map[string]any) bool { return u["update_id"].(int64) < offset })
		if len(f.updates) > 0 {
			return slices.Clone(f.updates), true
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-req.Context().Done():
		}
		f.mu.Lock()
		if req.Context().Err() != nil {
			return []map[string]any{}, true
		}
	}
}

func (f *Telegram) edit(id int64, text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.messages {
		if m.ID == id {
			m.Text, m.Buttons = text, map[string]string{}
			m.Edits++
			return true
		}
	}
	return false
}

func refuse(w http.ResponseWriter, failure Failure, description string) {
	reply := map[string]any{"ok": false, "error_code": failure.Code, "description": description}
	if failure.RetryAfter > 0 {
		reply["parameters"] = map[string]any{"retry_after": failure.RetryAfter}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(failure.Code)
	_ = json.NewEncoder(w).Encode(reply)
}
