package hubtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// output collects what the hub prints. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var signInCode = regexp.MustCompile(`#sign-in=(\S+)`)

// Owner signs in as the hub's first person, with the link that the hub wrote when it started,
// and returns the headers of requests by that person's browser.
func (h *Hub) Owner(name string) http.Header {
	h.t.Helper()
	var code []string
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); code == nil; <-tick.C {
		if code = signInCode.FindStringSubmatch(h.greeting.String()); code == nil && time.Now().After(end) {
			h.t.Fatal("the hub wrote no sign-in link")
		}
	}
	return h.SignIn(schema.SignInRequest{Code: code[1], Name: name})
}

// SignIn exchanges the code of a sign-in link for the headers of requests by a signed-in browser.
func (h *Hub) SignIn(request schema.SignInRequest) http.Header {
	h.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+schema.PathSignIn, strings.NewReader(string(body)))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var result schema.SignInResult
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil || resp.StatusCode != http.StatusOK {
		h.t.Fatalf("sign in: status %d, %v", resp.StatusCode, err)
	}
	headers := http.Header{schema.KeyHeader: {result.Key}}
	for _, cookie := range resp.Cookies() {
		headers.Add("Cookie", cookie.Name+"="+cookie.Value)
	}
	return headers
}
