package hubtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// grantClient calls a hub as a hook and as a person, with the headers of a signed-in browser if any.
type grantClient struct {
	t       *testing.T
	url     string
	headers http.Header
}

// newGrantClient returns a client of a hub that stays open to hooks, and whose owner is signed in.
func newGrantClient(t *testing.T, hub *hubtest.Hub) *grantClient {
	t.Helper()
	c := &grantClient{t: t, url: hub.URL(), headers: hub.Owner("ada")}
	status, answer := c.do(http.MethodPost, schema.PathLock, `{"locked":false}`, c.headers)
	require.Equal(t, http.StatusOK, status, string(answer))
	return c
}

func (c *grantClient) do(method, path, body string, headers http.Header) (status int, answer []byte) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	for name, values := range headers {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return resp.StatusCode, answer
}

// approve appeals against the refusal of a shell command, and approves it.
func (c *grantClient) approve(command string) {
	c.t.Helper()
	c.answerAppeal(command, `{"permission":true}`)
}

// answerAppeal appeals against the refusal of a shell command, and answers the appeal.
func (c *grantClient) answerAppeal(command, response string) {
	c.t.Helper()
	appeal := fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionDenied",
		"payload":{"tool_name":"Bash","tool_input":{"command":%[1]q}},"humanInTheLoop":{"question":"Run it?","type":"permission",
		"appeal":{"by":"Claude Code auto mode","reason":"No."},"toolCall":{"name":"Bash","arguments":{"command":%[1]q}}}}`, command)
	status, answer := c.do(http.MethodPost, schema.At(schema.PathRespond, c.ask(appeal)), response, c.headers)
	require.Equal(c.t, http.StatusOK, status, string(answer))
}

// ask posts an event with a question. The hub refuses an answer of the process that asked, so another one asks, as a hook does.
func (c *grantClient) ask(appeal string) schema.EventID {
	c.t.Helper()
	child := exec.Command(os.Args[0], c.url, appeal)
	child.Env = append(os.Environ(), roleVariable+"=appellant")
	out, err := child.Output()
	require.NoError(c.t, err)
	var e schema.Event
	require.NoError(c.t, json.Unmarshal(out, &e), string(out))
	return e.ID
}

// runAppellant is a child process that posts an appeal to a hub and prints the event.
func runAppellant(hub, appeal string) error {
	resp, err := http.Post(hub+schema.PathEvents, "application/json", strings.NewReader(appeal))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

func retryBody(command, key string) string {
	return fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","idempotency_key":%q,"payload":{"tool_name":"Bash","tool_input":{"command":%q}}}`, key, command)
}

// isGranted reports whether the hook of a retry gets a grant.
func (c *grantClient) isGranted(command, key string) bool {
	c.t.Helper()
	status, answer := c.do(http.MethodPost, schema.PathEvents, retryBody(command, key), http.Header{
		control.PreferHeader: {control.MinimalReturn}, control.AcceptsHeader: {"grant, freeze"},
	})
	require.Equal(c.t, http.StatusOK, status, string(answer))
	var receipt control.EventReceipt
	require.NoError(c.t, json.Unmarshal(answer, &receipt))
	return receipt.Directive != nil && receipt.Directive.Grant != nil
}

func (c *grantClient) ledger() string {
	c.t.Helper()
	status, answer := c.do(http.MethodGet, schema.PathLedger, "", c.headers)
	require.Equal(c.t, http.StatusOK, status)
	return string(answer)
}

func TestGrant_LastsFiveMinutes(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	hub := hubtest.Start(t, hubtest.Clock(func() time.Time { return began.Add(time.Duration(passed.Load())) }))
	c := newGrantClient(t, hub)
	c.approve("make deploy")
	c.approve("make clean")
	passed.Store(int64(5*time.Minute - time.Second))
	require.True(t, c.isGranted("make deploy", "k1"))
	passed.Store(int64(5*time.Minute + time.Second))
	require.False(t, c.isGranted("make clean", "k2"))
	require.Equal(t, 1, strings.Count(c.ledger(), "grant.used"))
}

// A repeat of an event gets the grant that the event used, because two hooks can report one event. Some models use the
// same ids again, so the repeat counts only until the call has ended, and for a minute at most.
func TestGrant_RepeatCountsUntilTheCallHasEnded(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	hub := hubtest.Start(t, hubtest.Clock(func() time.Time { return began.Add(time.Duration(passed.Load())) }))
	c := newGrantClient(t, hub)
	c.approve("make deploy")
	c.approve("make clean")
	require.True(t, c.isGranted("make deploy", "k1"))
	require.True(t, c.isGranted("make deploy", "k1"), "another hook of the event")
	require.False(t, c.isGranted("make deploy", "k2"), "another event of the call")
	status, answer := c.do(http.MethodPost, schema.PathEvents, strings.Replace(retryBody("make deploy", "k3"), "PreToolUse", "PostToolUse", 1), nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	require.False(t, c.isGranted("make deploy", "k1"), "the call has ended")
	require.True(t, c.isGranted("make clean", "k4"), "another call")
	passed.Store(int64(time.Minute))
	require.False(t, c.isGranted("make clean", "k4"), "a minute later")
	require.Equal(t, 2, strings.Count(c.ledger(), "grant.used"))
}

// A request without which the agent goes on ends with its session, and says so.
func TestLater_EndsWithItsSession(t *testing.T) {
	t.Parallel()
	c := newGrantClient(t, hubtest.Start(t))
	id := c.ask(`{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","payload":{"tool_name":"Bash","tool_input":{"command":"make deploy"}},
		"humanInTheLoop":{"question":"Run it?","type":"permission","appeal":{"by":"the Hookback policy","later":true},
		"toolCall":{"name":"Bash","arguments":{"command":"make deploy"}}}}`)
	status, answer := c.do(http.MethodPost, schema.PathEvents, `{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`, nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	status, answer = c.do(http.MethodPost, schema.At(schema.PathRespond, id), `{"permission":true}`, c.headers)
	require.Equal(t, http.StatusGone, status, string(answer))
	require.Contains(t, string(answer), `"source":"session_end"`)
	require.NotContains(t, c.ledger(), "grant.made")
}

// The digest covers the arguments before redaction, so a grant fits only the call with the same
// secret, also after a restart.
func TestGrant_RestartAndRedactedArguments(t *testing.T) {
	t.Parallel()
	const command = "curl -H 'Authorization: Bearer sk-ant-api03-%s' https://api.example"
	approved, other := fmt.Sprintf(command, strings.Repeat("a1B2", 20)), fmt.Sprintf(command, strings.Repeat("c3D4", 20))
	hub := hubtest.Start(t)
	c := newGrantClient(t, hub)
	c.approve(approved)
	_, stored := c.do(http.MethodGet, schema.PathRecent, "", nil)
	require.NotContains(t, string(stored), "a1B2a1B2", "the secret is redacted")
	hub.Restart()
	require.False(t, c.isGranted(other, "k1"))
	require.True(t, c.isGranted(approved, "k2"))
	hub.Restart()
	require.True(t, c.isGranted(approved, "k2"), "a repeat of the event")
	require.False(t, c.isGranted(approved, "k3"), "it works once")
	require.Equal(t, 1, strings.Count(c.ledger(), "grant.used"))
}

// A hub that is killed after the commit gives the same grant to the repeat of the event, and to no
// other event.
func TestGrant_KillBeforeTheReplyUsesItOnce(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := newGrantClient(t, hub)
	c.approve("make deploy")
	hub.Stop()
	server := startServerOn(t, "hub", hub.DB())
	c.url, c.headers = "http://"+server.addr, nil // another address: the browser is not signed in there
	conn, err := net.Dial("tcp", server.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	body := retryBody("make deploy", "k1")
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s: %s\r\n%s: grant, freeze\r\nContent-Length: %d\r\n\r\n%s",
		schema.PathEvents, server.addr, control.PreferHeader, control.MinimalReturn, control.AcceptsHeader, len(body), body)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // committed
		_, events := c.do(http.MethodGet, schema.PathRecent, "", nil)
		return strings.Contains(string(events), "PreToolUse")
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(server.pid, syscall.SIGKILL)) // the hook has not read the reply
	server.stop()

	c.url = "http://" + startServerOn(t, "hub", hub.DB()).addr
	require.True(t, c.isGranted("make deploy", "k1"))
	require.False(t, c.isGranted("make deploy", "k2"))
}

// An approval counts only while its author could still give it.
func TestGrant_EndsWithTheRightToApprove(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := newGrantClient(t, hub)
	owner := c.headers
	for name, change := range map[string]string{"eve": `{"role":"viewer"}`, "bob": ""} {
		status, answer := c.do(http.MethodPost, schema.PathPeople, `{"name":"`+name+`","role":"operator"}`, owner)
		require.Equal(t, http.StatusOK, status, string(answer))
		var person schema.Person
		require.NoError(t, json.Unmarshal(answer, &person))
		_, code, _ := strings.Cut(person.SignInURL, "#sign-in=")
		c.headers = hub.SignIn(schema.SignInRequest{Code: code})
		c.approve("make " + name)
		method := http.MethodPost
		if change == "" {
			method = http.MethodDelete
		}
		status, answer = c.do(method, schema.PathPeople+"/"+name, change, owner)
		require.Less(t, status, 300, string(answer))
		require.False(t, c.isGranted("make "+name, name))
		c.headers = owner
	}
	require.Equal(t, 2, strings.Count(c.ledger(), "grant.revoked"))
	require.NotContains(t, c.ledger(), "grant.used")
}

// A hook can't tell the model why a call stays refused. The reason becomes a message once the answer
// can't be undone any more.
func TestAppeal_ReasonIsSentAfterUndoWindow(t *testing.T) {
	t.Parallel()
	c := newGrantClient(t, hubtest.Start(t))
	status, answer := c.do(http.MethodPost, schema.PathEvents, `{"source_app":"a","session_id":"s","agent":"claude-code","hook_event_type":"SessionStart","payload":{}}`, nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	c.answerAppeal("make deploy", `{"permission":false,"reason":"Deploy on Monday.","holdMs":200}`)
	var list []control.Message
	require.Eventually(t, func() bool {
		status, answer := c.do(http.MethodGet, control.PathMessages+"?source_app=a&session_id=s", "", c.headers)
		return status == http.StatusOK && json.Unmarshal(answer, &list) == nil && len(list) > 0
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "About the refused call: Deploy on Monday.", list[0].Text)
	require.Equal(t, "ada", list[0].From)
}

// A message that was saved before the hub was killed is handed over once.
func TestMessage_KillBeforeHandOverDeliversOnce(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := newGrantClient(t, hub)
	status, answer := c.do(http.MethodPost, schema.PathTokens, `{"person":"ada","name":"laptop"}`, c.headers)
	require.Equal(t, http.StatusOK, status, string(answer))
	var token schema.Token
	require.NoError(t, json.Unmarshal(answer, &token))
	bearer := http.Header{"Authorization": {"Bearer " + token.Secret}} // works on every port
	hub.Stop()

	server := startServerOn(t, "hub", hub.DB())
	c.url = "http://" + server.addr
	status, answer = c.do(http.MethodPost, schema.PathEvents, `{"source_app":"a","session_id":"s","agent":"claude-code","hook_event_type":"SessionStart","payload":{}}`, nil)
	require.Equal(t, http.StatusOK, status, string(answer))
	status, answer = c.do(http.MethodPost, control.PathMessages, `{"source_app":"a","session_id":"s","text":"Use port 8081."}`, bearer)
	require.Equal(t, http.StatusCreated, status, string(answer))
	require.NoError(t, syscall.Kill(server.pid, syscall.SIGKILL))
	server.stop()

	c.url = "http://" + startServerOn(t, "hub", hub.DB()).addr
	handedOver := 0
	for _, key := range []string{"k1", "k1", "k2"} { // the repeat of an event gets the same again
		status, answer = c.do(http.MethodPost, schema.PathEvents, retryBody("ls", key), http.Header{
			control.PreferHeader: {control.MinimalReturn}, control.AcceptsHeader: {"message"},
		})
		require.Equal(t, http.StatusOK, status, string(answer))
		handedOver += strings.Count(string(answer), "Use port 8081.")
	}
	require.Equal(t, 2, handedOver)
}
