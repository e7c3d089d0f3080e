package notifytest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Ntfy is an ntfy server with one protected topic.
type Ntfy struct {
	*httptest.Server
	User, Password, Topic string

	mu       sync.Mutex
	messages []NtfyMessage
}

// NtfyMessage is a message in the topic.
type NtfyMessage struct {
	Title    string       `json:"title"`
	Message  string       `json:"message"`
	Click    string       `json:"click"`
	Actions  []NtfyAction `json:"actions"`
	Topic    string       `json:"topic"`
	Sequence string       `json:"sequence_id"`
	Updates  int          `json:"-"`
}

// NtfyAction is a button of a message.
type NtfyAction struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// NewNtfy starts a server.
func NewNtfy(t *testing.T) *Ntfy {
	f := &Ntfy{User: "ada", Password: "secret-of-ada", Topic: "requests-of-ada"}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// Address returns the address of a channel with answers.
func (f *Ntfy) Address() string {
	return "ntfy://" + f.User + ":" + f.Password + "@" + strings.TrimPrefix(f.URL, "http://") + "/" + f.Topic + "?answers=yes"
}

// Messages returns copies of the messages that a phone shows.
func (f *Ntfy) Messages() []NtfyMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.messages)
}

// Press carries out an action as the app on a phone does.
func (a *NtfyAction) Press(client *http.Client) (status int, err error) {
	req, err := http.NewRequest(a.Method, a.URL, bytes.NewReader([]byte(a.Body))) //nolint:noctx // a test
	if err != nil {
		return 0, err
	}
	for name, value := range a.Headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func (f *Ntfy) serve(w http.ResponseWriter, req *http.Request) {
	user, password, _ := req.BasicAuth()
	var m NtfyMessage
	switch {
	case user != f.User || password != f.Password:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case json.NewDecoder(req.Body).Decode(&m) != nil || m.Topic != f.Topic || m.Message == "" || len(m.Message) > 4096 || len(m.Actions) > 3:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.messages, func(old NtfyMessage) bool { return old.Sequence == m.Sequence }); i >= 0 && m.Sequence != "" {
		m.Updates = f.messages[i].Updates + 1
		f.messages[i] = m
		return
	}
	f.messages = append(f.messages, m)
}
