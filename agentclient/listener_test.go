package agentclient_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// startQuestion asks in the background. It returns the stored question and the result.
func (b *fixture) startQuestion(t *testing.T) (*fakehub.Question, <-chan askResult) {
	t.Helper()
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	return b.waitForQuestion(t, 1), got
}

// requirePending shows that the question is still pending: it denies it and requires that
// the denial is accepted.
func (b *fixture) requirePending(t *testing.T, q *fakehub.Question, got <-chan askResult) {
	t.Helper()
	ack, err := q.Dial(b.ctx, q.Frame(denial())) // Push would race with a pull
	require.NoError(t, err)
	require.Equal(t, schema.AckAccepted, ack.Result)
	end := b.waitForResult(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Deny, end.Outcome)
}

func TestListener_RejectsUnknownCallers(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	address := q.HumanInTheLoop.ResponseWebSocketURL
	host := strings.TrimPrefix(address[:strings.LastIndex(address, "/")], "ws://")
	tests := map[string]struct {
		address string
		opts    websocket.DialOptions
		status  int
	}{
		"a web page":                       {address, websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://evil.example"}}}, http.StatusForbidden},
		"a web page with the same host":    {address, websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://" + host}}}, http.StatusForbidden},
		"a web page with an opaque origin": {address, websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"null"}}}, http.StatusForbidden},
		"DNS rebinding":                    {address, websocket.DialOptions{Host: "rebound.example" + host[strings.Index(host, ":"):]}, http.StatusMisdirectedRequest},
		"localhost instead of the address": {address, websocket.DialOptions{Host: "localhost" + host[strings.Index(host, ":"):]}, http.StatusMisdirectedRequest},
		"the root path":                    {"ws://" + host + "/", websocket.DialOptions{}, http.StatusNotFound},
		"a guessed path":                   {"ws://" + host + "/AAAAAAAAAAAAAAAAAAAAAA", websocket.DialOptions{}, http.StatusNotFound},
		"a path below the secret one":      {address + "/x", websocket.DialOptions{}, http.StatusNotFound},
	}
	for name, test := range tests {
		conn, res, err := websocket.Dial(b.ctx, test.address, &test.opts)
		if err == nil {
			_ = conn.CloseNow()
		}
		require.Error(t, err, name)
		require.Equal(t, test.status, res.StatusCode, name)
	}
	b.requirePending(t, q, got)
}

func TestListener_BindsToLoopbackOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	require.True(t, strings.HasPrefix(q.HumanInTheLoop.ResponseWebSocketURL, "ws://127.0.0.1:"))
	b.requirePending(t, q, got)
}

func TestListener_AnswersChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	conn, res, err := websocket.Dial(b.ctx, q.HumanInTheLoop.ResponseWebSocketURL, &websocket.DialOptions{
		HTTPHeader: http.Header{schema.ChallengeHeader: {"prove it"}},
	})
	require.NoError(t, err)
	require.NoError(t, conn.CloseNow())
	require.Equal(t, schema.ListenerProof(q.HumanInTheLoop.ListenerKey, "prove it"), res.Header.Get(schema.ProofHeader))
	b.requirePending(t, q, got)
}

// dialListener connects to the question's path as a version 1 hub does, without a challenge.
func (b *fixture) dialListener(t *testing.T, q *fakehub.Question) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(b.ctx, q.HumanInTheLoop.ResponseWebSocketURL, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func TestListener_RejectsOversizedFrame(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	conn := b.dialListener(t, q)
	frame := q.Frame(schema.Answer{Permission: ptr(true), Comment: strings.Repeat("x", 1<<20)})
	_ = conn.Write(b.ctx, websocket.MessageText, frame) // the listener may close during the write
	_, _, err := conn.Read(b.ctx)
	require.Error(t, err)
	b.requirePending(t, q, got)
}

func TestListener_AcceptsLargeFrame(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	comment := strings.Repeat("x", 15<<10)
	a := schema.Answer{Permission: ptr(true), Comment: comment}
	a.HookEvent = nil
	q.Payload = raw(`{"big":"` + strings.Repeat("y", 900<<10) + `"}`)
	_, err := q.Push(b.ctx, a)
	require.NoError(t, err)
	require.Equal(t, comment, b.waitForResult(t, got).Comment)
}

func TestListener_ReadsOneMessagePerConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	conn := b.dialListener(t, q)
	stranger := q.Frame(approval())
	stranger = []byte(strings.NewReplacer(`"id":1`, `"id":77`, q.IdempotencyKey, "other").Replace(string(stranger)))
	require.NoError(t, conn.Write(b.ctx, websocket.MessageText, stranger))
	require.NoError(t, conn.Write(b.ctx, websocket.MessageText, q.Frame(approval())))
	_, ack, err := conn.Read(b.ctx)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ack","answerId":"answer-1","result":"mismatch"}`, string(ack))
	_, _, err = conn.Read(b.ctx)
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "the second message is not read")
	b.requirePending(t, q, got)
}

func TestListener_RejectsBinaryMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	conn := b.dialListener(t, q)
	require.NoError(t, conn.Write(b.ctx, websocket.MessageBinary, q.Frame(approval())))
	_, _, err := conn.Read(b.ctx)
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err))
	b.requirePending(t, q, got)
}

func TestListener_RejectsAnswerForOtherKey(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	frame := strings.Replace(string(q.Frame(approval())), q.IdempotencyKey, "another key", 1)
	ack, err := q.Dial(b.ctx, []byte(frame))
	require.NoError(t, err)
	require.Equal(t, schema.AckMismatch, ack.Result)
	b.requirePending(t, q, got)
}

func TestListener_RejectsAnswerForOtherID(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	known := make(chan struct{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", OnWaiting: func(agentclient.WaitStatus) { close(known) }})
	q := b.waitForQuestion(t, 1)
	<-known
	ack, err := q.Dial(b.ctx, []byte(`{"permission":true,"answerId":"a","hookEvent":{"id":2}}`))
	require.NoError(t, err)
	require.Equal(t, schema.AckMismatch, ack.Result)
	b.requirePending(t, q, got)
}

func TestListener_AcceptsAnswerFromOtherHub(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	frame := strings.Replace(string(q.Frame(approval())), `"id":1`, `"id":2`, 1) // the same idempotency key
	ack, err := q.Dial(b.ctx, []byte(frame))
	require.NoError(t, err)
	require.Equal(t, schema.AckAccepted, ack.Result)
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestListener_ClassifiesRepeatedAndLateAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{Linger: time.Minute}})
	q, got := b.startQuestion(t)
	frame := q.Frame(approval())
	for _, want := range []string{schema.AckAccepted, schema.AckDuplicate, schema.AckDuplicate} {
		ack, err := q.Dial(b.ctx, frame)
		require.NoError(t, err)
		require.Equal(t, want, ack.Result)
	}
	other := denial()
	other.AnswerID = "another answer"
	ack, err := q.Dial(b.ctx, q.Frame(other))
	require.NoError(t, err)
	require.Equal(t, schema.AckTooLate, ack.Result)
	require.True(t, b.waitForResult(t, got).Approved(), "the first answer counts")

	conn := b.dialListener(t, q)
	require.NoError(t, conn.Write(b.ctx, websocket.MessageText, []byte(`{"permission":false}`)))
	_, _, err = conn.Read(b.ctx)
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "version 1 has no acknowledgments")
}

func TestListener_DeduplicatesConcurrentAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	results := make(chan string, 20)
	for range cap(results) {
		go func() {
			ack, err := q.Dial(b.ctx, q.Frame(approval()))
			if err != nil {
				t.Error(err)
			}
			results <- ack.Result
		}()
	}
	count := map[string]int{}
	for range cap(results) {
		count[<-results]++
	}
	require.Equal(t, map[string]int{schema.AckAccepted: 1, schema.AckDuplicate: 19}, count)
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestListener_AcknowledgesAfterHandover(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	// Ask can't return before OnWaiting does, so until then there must be no acknowledgment.
	held, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", OnWaiting: func(agentclient.WaitStatus) { close(held); <-released }})
	q := b.waitForQuestion(t, 1)
	<-held
	acks := make(chan string, 2)
	for range cap(acks) {
		go func() {
			ack, err := q.Dial(b.ctx, q.Frame(approval()))
			if err != nil {
				t.Error(err)
			}
			acks <- ack.Result
		}()
	}
	// Only a repeat is acknowledged, which shows that the client has received the answer.
	require.Equal(t, schema.AckDuplicate, <-acks, "acknowledged before the caller had the answer")
	require.Empty(t, acks, "acknowledged before the caller had the answer")
	release()
	require.True(t, b.waitForResult(t, got).Approved())
	require.Equal(t, schema.AckAccepted, <-acks)
}

func TestClose_SendsPendingAcknowledgment(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := setup(t, &fixtureConfig{})
		q, got := b.startQuestion(t)
		acks := make(chan schema.Ack, 1)
		go func() {
			ack, err := q.Dial(b.ctx, q.Frame(approval())) // Push would race with a pull
			if err != nil {
				t.Error(err)
			}
			acks <- ack
		}()
		b.waitForResult(t, got)
		require.NoError(t, b.client.Close())
		require.Equal(t, schema.AckAccepted, (<-acks).Result)
	}
}

func TestClose_CutsSilentConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{ReadTimeout: time.Hour}})
	q, got := b.startQuestion(t)
	conn := b.dialListener(t, q)
	b.requirePending(t, q, got)
	closed := make(chan error, 1)
	go func() { closed <- b.client.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-b.ctx.Done():
		require.FailNow(t, "Close waits for the silent connection")
	}
	_, _, err := conn.Read(b.ctx)
	require.Error(t, err)
	require.NoError(t, b.ctx.Err())
}

func TestAsk_MalformedAnswerDenies(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string]string{
		"no JSON":          `permission: true`,
		"not an object":    `[true]`,
		"empty":            `{}`,
		"null":             `{"permission":null}`,
		"a string":         `{"permission":"true"}`,
		"a number":         `{"permission":1}`,
		"another case":     `{"Permission":true}`,
		"other kind":       `{"choice":"yes"}`,
		"contradiction":    `{"permission":true,"outcome":"deny"}`,
		"forbidden edit":   `{"permission":true,"modifiedArguments":{}}`,
		"invalid metadata": `{"permission":true,"respondedBy":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fixtureConfig{opts: agentclient.Options{OnUnreachable: agentclient.Allow}})
			q, got := b.startQuestion(t)
			conn := b.dialListener(t, q)
			require.NoError(t, conn.Write(b.ctx, websocket.MessageText, []byte(frame)))
			end := b.waitForResult(t, got)
			require.NoError(t, end.err)
			require.False(t, end.Approved())
			require.False(t, end.Answered())
			require.Equal(t, agentclient.Malformed, end.Outcome)
			require.Equal(t, agentclient.BadAnswer, end.Source)
			_, _, err := conn.Read(b.ctx)
			require.Error(t, err)
		})
	}
}

func TestAsk_MalformedAnswerIsErrorWithFail(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", OnUnreachable: agentclient.Fail})
	q := b.waitForQuestion(t, 1)
	ack, err := q.Dial(b.ctx, q.Frame(schema.Answer{Response: ptr("yes")})) // Push would race with a pull
	require.NoError(t, err)
	require.Equal(t, schema.AckMismatch, ack.Result, "the hub must not show the answer as delivered")
	end := b.waitForResult(t, got)
	require.ErrorIs(t, end.err, agentclient.ErrMalformed)
	require.ErrorIs(t, end.err, schema.ErrWrongAnswer)
	require.False(t, end.Approved())
}

func TestAsk_AcceptsAnswerBeforePostReply(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var c fixtureConfig
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != schema.PathEvents {
			return false
		}
		rec := &discardWriter{header: http.Header{}}
		c.hub.Ingest(rec, r)
		<-release // stored, but without a reply
		return true
	}
	b := setup(t, &c)
	q, got := b.startQuestion(t)
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	end := b.waitForResult(t, got)
	require.True(t, end.Approved())
	require.Equal(t, schema.EventID(1), end.EventID)
	close(release)
}

// discardWriter discards a response.
type discardWriter struct{ header http.Header }

func (d *discardWriter) Header() http.Header         { return d.header }
func (d *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (d *discardWriter) WriteHeader(int)             {}

func TestAsk_CanceledContextPostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	d, err := b.client.AskPermission(ctx, "Go?")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, d.Approved())
	require.Empty(t, b.hub.Events())
}
