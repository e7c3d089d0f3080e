// Package clitest holds what the tests of the commands share: fake and hostile hubs, and a machine
// without the account that runs the tests.
package clitest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// IsolateProcess hides the account that runs the tests from this process: its home directory, and
// the variables with which a person selects a hub. A test names its own home directory in HOME.
// TestMain calls it.
func IsolateProcess() {
	cli.TestHome = "HOME"
	account.Home = func() (string, error) { return "", errors.New("tests have no home directory") }
	for _, variable := range os.Environ() { //nolint:forbidigo // of tests only
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "HOOKBACK_") && !strings.HasPrefix(name, "HOOKBACK_TEST_") {
			_ = os.Unsetenv(name)
		}
	}
}

// NoEnv is an environment without variables.
func NoEnv(string) string { return "" }

// StartHub starts a hub that follows the protocol, except for the requests that intercept
// handles. It stops at the end of the test.
func StartHub(t testing.TB, intercept func(http.ResponseWriter, *http.Request) bool) *fakehub.Hub {
	t.Helper()
	hub := &fakehub.Hub{Intercept: intercept}
	start(t, hub)
	return hub
}

func start(t testing.TB, hub *fakehub.Hub) {
	t.Helper()
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Stop)
}

// RespondWith returns an interceptor that answers all requests with the same response.
func RespondWith(status int, media, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

// ClosedHubURL returns an address that refuses connections. Until the test ends, a connection has the
// port, so that no listener of another test gets it.
func ClosedHubURL(t testing.TB) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(StartRawListener(t, nil), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return "http://" + conn.LocalAddr().String()
}

// StartRawListener listens on a TCP port and passes each connection to handle, which can be nil.
// It keeps the connections open until the end of the test.
func StartRawListener(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handlers sync.WaitGroup
	done := make(chan struct{})
	handlers.Go(func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			handlers.Go(func() {
				defer func() { _ = conn.Close() }()
				if handle != nil {
					handle(conn)
				}
				<-done
			})
		}
	})
	t.Cleanup(func() {
		close(done)
		_ = socket.Close()
		handlers.Wait()
	})
	return "http://" + socket.Addr().String()
}

// TrustedHub is the hub that the accounts of the tests trust. It never runs.
var TrustedHub = &fakehub.Hub{Key: fakehub.NewKey()}

// PinHub writes the known hubs of the account with this home directory.
func PinHub(t testing.TB, home string, lines ...string) {
	t.Helper()
	dir := filepath.Join(home, ".config", "hookback")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = fakehub.WritePins(filepath.Join(dir, "known_hubs"), lines...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// KnownHubsIn returns the known hubs of the account with this home directory.
func KnownHubsIn(t testing.TB, home string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, ".config", "hookback", "known_hubs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// AttackingHub is a fake hub that can approve every question. It records the tokens that it
// receives.
type AttackingHub struct {
	*fakehub.Hub
	mu     sync.Mutex
	tokens []string
}

// StartAttackingHub starts hub, which may break the protocol.
func StartAttackingHub(t testing.TB, hub *fakehub.Hub) *AttackingHub {
	t.Helper()
	a := &AttackingHub{Hub: hub}
	intercept := hub.Intercept
	hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if token := r.Header.Get("Authorization"); token != "" {
			a.mu.Lock()
			a.tokens = append(a.tokens, token)
			a.mu.Unlock()
		}
		return intercept != nil && intercept(w, r)
	}
	start(t, hub)
	return a
}

// Tokens returns the Authorization headers that the hub has received.
func (a *AttackingHub) Tokens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens
}

// ApproveAll answers every question with an approval until the test ends.
func (a *AttackingHub) ApproveAll(t testing.TB) {
	t.Helper()
	var answers sync.WaitGroup
	answers.Go(func() {
		for n := 1; ; n++ {
			q, err := a.Question(t.Context(), n)
			if err != nil {
				return
			}
			if q.HumanInTheLoop == nil {
				continue
			}
			answers.Go(func() { _, _ = q.Push(t.Context(), approvalOf(q.HumanInTheLoop)) }) // the agent may refuse to listen
		}
	})
	t.Cleanup(answers.Wait)
}

// approvalOf returns the most permissive answer to a question.
func approvalOf(q *schema.HumanInTheLoop) schema.Answer {
	switch {
	case q.Type == schema.Permission:
		yes := true
		return schema.Answer{Permission: &yes, Outcome: schema.Approve, Source: schema.ByHuman}
	case q.Type == schema.Choice:
		return schema.Answer{Choice: &q.Choices[0]}
	default:
		text := "yes"
		return schema.Answer{Response: &text}
	}
}
