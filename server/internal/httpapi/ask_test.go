package httpapi

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

// ask posts to /ask. The channel receives the response; status 0 is a broken connection.
func (r *harness) ask(ctx context.Context, body string, headers ...string) <-chan hookResult {
	done := make(chan hookResult, 1)
	go func() {
		var h hookResult
		defer func() { done <- h }()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+schema.PathAsk, strings.NewReader(body))
		if err != nil {
			r.t.Error(err)
			return
		}
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := r.client.Do(req)
		if err != nil {
			return
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(io.TeeReader(resp.Body, &r.hookBytes))
		if err == nil {
			h.status, h.body = resp.StatusCode, string(b)
		}
	}()
	return done
}

// answerOf decodes the answer in a response to /ask.
func (r *harness) answerOf(h hookResult) (a schema.Answer) {
	r.t.Helper()
	require.Equal(r.t, 200, h.status, h.body)
	require.NoError(r.t, json.Unmarshal([]byte(h.body), &a), h.body)
	return a
}

// runDeadlines runs the hub's timers until the test ends.
func (r *harness) runDeadlines() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = r.Hub.Run(ctx) }()
	r.t.Cleanup(func() { cancel(); <-ended })
}

func (r *harness) newAgentToken(owner browser, name string) (made schema.Token) {
	r.t.Helper()
	r.requestJSON("POST "+schema.PathTokens, `{"name":"`+name+`"}`, &made, owner.headers()...)
	return made
}

func TestAsk_ReturnsAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, answer, want string }{
		"yes":       {`{"question":"Delete ./build?"}`, `{"permission":true}`, `"permission":true`},
		"no":        {`{"question":"Delete ./build?"}`, `{"permission":false,"reason":"keep it"}`, `"permission":false`},
		"choice":    {`{"question":"Which?","choices":["Vitest","Jest"]}`, `{"choice":"Jest"}`, `"choice":"Jest"`},
		"own text":  {`{"question":"Which?","choices":["Vitest","Jest"],"allow_other":true}`, `{"response":"Mocha"}`, `"response":"Mocha"`},
		"text":      {`{"question":"Name?","type":"question"}`, `{"response":"main"}`, `"response":"main"`},
		"questions": {`{"question":"Setup?","questions":[{"id":"db","question":"Which?"}]}`, `{"answers":{"db":"sqlite"}}`, `"answers":{"db":"sqlite"}`},
		"edited":    {`{"question":"Run?","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`, `{"permission":true,"modifiedArguments":{"command":"pwd"}}`, `"modifiedArguments":{"command":"pwd"}`},
		"held":      {`{"question":"Delete ./build?"}`, `{"permission":true,"holdMs":50}`, `"permission":true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, fastHooks)
			r.runDeadlines()
			done := r.ask(t.Context(), c.body)
			e := r.waitForQuestion(1)
			require.Equal(t, "ask", e.SourceApp)
			require.Equal(t, "DecisionPoint", e.HookEventType)
			require.JSONEq(t, `{}`, string(e.Payload))
			require.Equal(t, schema.Listening, e.HumanInTheLoopStatus.Waiter)
			require.Eventually(t, func() bool { return r.hookBytes.n.Load() > 60 }, waitLimit, time.Millisecond, "heartbeats outlive the write timeout")
			r.answer(1, c.answer)
			h := <-done
			require.Equal(t, "     ", h.body[:5], "heartbeats were sent")
			require.Contains(t, h.body, c.want)
			require.NotNil(t, r.answerOf(h).HookEvent)
			require.Equal(t, schema.Pulled, r.waitUntilSettled(1).Delivery.State)
			require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond)
		})
	}
}

func TestRespond_TextNeedsAllowOther(t *testing.T) {
	t.Parallel()
	r := setup(t)
	closed := r.postChoice("a", "")
	open := r.postChoice("b", `,"allowOther":true`)
	r.expectProblem("wrong_answer", fmt.Sprintf("POST /events/%d/respond", closed), `{"response":"Mocha"}`)
	respond := fmt.Sprintf("POST /events/%d/respond", open)
	require.Contains(t, r.expectProblem("wrong_answer", respond, `{"response":"Jest"}`).Detail, "send it as choice")
	r.expectProblem("wrong_answer", respond, `{"choice":"Mocha"}`)
	r.answer(open, `{"response":"Mocha"}`)
	st := r.waitUntilSettled(open)
	require.Equal(t, schema.Answered, st.Outcome)
	require.Equal(t, "Mocha", *st.Response.Response)
	require.Nil(t, st.Response.Choice)
}

// TestRespond_DuplicatesShareAllowOther: a text must not answer an equal question that takes labels only.
func TestRespond_DuplicatesShareAllowOther(t *testing.T) {
	t.Parallel()
	r := setup(t)
	closed := r.postChoice("s", `,"protocolVersion":2`)
	open := r.postChoice("s", `,"protocolVersion":2,"allowOther":true`)
	r.answer(open, `{"response":"Mocha"}`)
	require.Equal(t, schema.Answered, r.waitUntilSettled(open).Outcome)
	require.Equal(t, schema.Pending, r.event(closed).HumanInTheLoopStatus.Status)
}

// postChoice posts a choice with further members and returns its id.
func (r *harness) postChoice(session, members string) schema.EventID {
	return r.post(`{"source_app":"a","session_id":"` + session + `","hook_event_type":"DecisionPoint","payload":{},
		"humanInTheLoop":{"question":"Which?","type":"choice","choices":["Vitest","Jest"]` + members + `}}`).ID
}

func TestAsk_TimeoutIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	r.runDeadlines()
	a := r.answerOf(<-r.ask(t.Context(), `{"question":"Delete ./build?","timeout":0.05}`))
	require.Equal(t, schema.Timeout, a.Outcome)
	require.NotNil(t, a.Permission)
	require.False(t, *a.Permission)
}

func TestAsk_KeepsMembersOfEvent(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	secret := strings.Repeat("s", 32)
	done := r.ask(t.Context(), `{"source_app":"deploy","session_id":"run-7","payload":{"sha":"abc"},"question":"Go?","risk":"high","request_secret":"`+secret+`","custom":{"n":1}}`)
	e := r.waitForQuestion(1)
	require.Equal(t, "deploy", e.SourceApp)
	require.Equal(t, "run-7", e.SessionID)
	require.JSONEq(t, `{"sha":"abc"}`, string(e.Payload))
	require.Equal(t, schema.HighRisk, e.HumanInTheLoop.Risk)
	require.JSONEq(t, `{"n":1}`, string(e.HumanInTheLoop.Extra["custom"]))
	r.answer(1, `{"permission":false}`)
	require.NotContains(t, (<-done).body, secret)
	first := r.waitUntilSettled(1)
	require.Equal(t, schema.Deny, first.Outcome)
}

// A program that sends a nonce gets an answer that is signed for exactly its question.
func TestAsk_SignsAnswers(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	question := `{"question":"Go?","nonce":"` + strings.Repeat("n", 32) + `","type":"permission","protocolVersion":2}`
	done := r.ask(t.Context(), `{"source_app":"deploy","session_id":"s1",`+question[1:])
	r.waitForQuestion(1)
	r.answer(1, `{"permission":true}`)
	a := r.answerOf(<-done)
	require.NotNil(t, a.Seal)
	digest, err := sign.AskDigest([]byte(`{"source_app":"deploy","session_id":"s1","hook_event_type":"DecisionPoint","payload":{},"humanInTheLoop":` + question + `}`))
	require.NoError(t, err)
	require.Contains(t, string(a.Seal.Payload), hex.EncodeToString(digest[:]))
	// Without a version the hub adds it, because version 1 has no signed answers.
	done = r.ask(t.Context(), `{"question":"Go?","nonce":"`+strings.Repeat("m", 32)+`"}`)
	r.waitForQuestion(4)
	r.answer(4, `{"permission":false}`)
	require.NotNil(t, r.answerOf(<-done).Seal)
}

func TestAsk_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	deep := strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500)
	var many strings.Builder
	for i := range 5000 {
		_, _ = fmt.Fprintf(&many, `"m%d":0,`, i)
	}
	for body, field := range map[string]string{
		``: "", `[]`: "", `null`: "", `{`: "", `{}`: "question", `{"question":""}`: "question", "{\"question\":\"\xff\"}": "", `{"question":"a"}{}`: "",
		`{"question":"a","type":"nonsense"}`: "type", `{"question":"a","timeout":-1}`: "timeout", `{"question":1}`: "question",
		`{"question":"a","source_app":1}`: "source_app", `{"question":"a","source_app":""}`: "source_app", `{"question":"a","payload":[]}`: "payload",
		`{"question":"a","source_app":"x","source_app":"y"}`:                     "source_app",
		`{"question":"a","responseWebSocketUrl":"ws://127.0.0.1:1"}`:             "responseWebSocketUrl",
		`{"question":"a","response_websocket_url":"ws://127.0.0.1:1"}`:           "responseWebSocketUrl",
		`{"question":"a","listenerKey":"` + strings.Repeat("k", 43) + `"}`:       "responseWebSocketUrl",
		`{"question":"a","idempotency_key":"k"}`:                                 "idempotency_key",
		`{"humanInTheLoop":{"question":"a"}}`:                                    "question",
		`{"question":"a","custom":` + deep + `}`:                                 "",
		`{` + many.String() + `"question":"a"}`:                                  "",
		`{"question":"a","recipients":{"mode":"selected_members","members":[]}}`: "recipients.members",
	} {
		resp, b := r.do("POST", schema.PathAsk, body)
		require.Equal(t, 400, resp.StatusCode, "%.80s", body)
		require.Equal(t, field, r.problem(resp, b).Field, "%.80s", body)
	}
	resp, b := r.do("POST", schema.PathAsk, `{"question":"a"}`, schema.IdempotencyHeader, strings.Repeat("k", schema.MaxName+1))
	require.Equal(t, 400, resp.StatusCode)
	require.Equal(t, schema.IdempotencyHeader, r.problem(resp, b).Field)
	resp, _ = r.do("POST", schema.PathAsk, `{"question":"`+strings.Repeat("a", schema.MaxBody)+`"}`)
	require.Equal(t, 413, resp.StatusCode)
	for _, headers := range [][]string{
		{"Origin", "https://evil.example", "Content-Type", "application/json"},
		{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"},
		{"Host", "evil.example"},
		{"Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"},
	} {
		resp, _ := r.do("POST", schema.PathAsk, `{"question":"a"}`, headers...)
		require.Contains(t, []int{403, 415, 421}, resp.StatusCode, headers)
	}
	require.Zero(t, r.store.Head())
}

// dialAsk sends a request to /ask over a separate connection, and returns when its 200 arrived.
func (r *harness) dialAsk(body string, headers ...string) net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	lines := ""
	for i := 0; i+1 < len(headers); i += 2 {
		lines += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s", schema.PathAsk, r.addr, lines, len(body), body)
	require.NoError(r.t, err)
	begun, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(r.t, err)
	require.Equal(r.t, "HTTP/1.1 200 OK\r\n", begun, "the response starts when the question is stored")
	return c
}

func TestAsk_DisconnectEndsQuestion(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]string{"once": nil, "can retry": {schema.IdempotencyHeader, "k"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setupGrace(t, 50*time.Millisecond, func(c *Config) { c.HookHeartbeat = time.Minute })
			c := r.dialAsk(`{"question":"Go?"}`, headers...)
			require.Equal(t, schema.Pending, r.waitForQuestion(1).HumanInTheLoopStatus.Status)
			require.NoError(t, c.Close())
			st := r.waitUntilSettled(1)
			require.Equal(t, schema.ByOrphaned, st.Source)
			require.Equal(t, hub.ReasonAgentGone, st.Reason)
			require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond)
			if headers != nil { // the retry comes too late
				a := r.answerOf(<-r.ask(t.Context(), `{"question":"Go?"}`, headers...))
				require.Equal(t, schema.Cancelled, a.Outcome)
				require.False(t, *a.Permission)
			}
		})
	}
}

func TestAsk_RetryAttachesAgain(t *testing.T) {
	t.Parallel()
	r := setupGrace(t, time.Hour, fastHooks)
	key := []string{schema.IdempotencyHeader, "deploy 7"}
	c := r.dialAsk(`{"question":"Go?"}`, key...)
	r.waitForQuestion(1)
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond)
	require.Equal(t, schema.Pending, r.event(1).HumanInTheLoopStatus.Status)

	done := r.ask(t.Context(), `{"question":"Go?"}`, key...)
	resp, b := r.do("POST", schema.PathAsk, `{"question":"Go now?"}`, key...)
	require.Equal(t, 409, resp.StatusCode)
	require.Equal(t, "key_conflict", r.problem(resp, b).Code)
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 1 }, waitLimit, time.Millisecond)
	require.Equal(t, schema.Listening, r.event(1).HumanInTheLoopStatus.Waiter)
	r.answer(1, `{"permission":true}`)
	require.True(t, *r.answerOf(<-done).Permission)
	require.True(t, *r.answerOf(<-r.ask(t.Context(), `{"question":"Go?"}`, key...)).Permission, "the answer is kept")
	// An event with the same key is another request.
	e := r.post(`{"source_app":"ask","session_id":"s","hook_event_type":"Stop","payload":{},"idempotency_key":"deploy 7"}`)
	require.Nil(t, e.HumanInTheLoop)
}

// An idempotency key belongs to its caller: another one with the same key and body asks its own
// question.
func TestAsk_KeyBelongsToCaller(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	ada := r.owner("ada")
	token := r.newAgentToken(ada, "deploy").Secret
	key := []string{schema.IdempotencyHeader, "k"}
	first := r.ask(t.Context(), `{"question":"Go?","session_id":"s"}`, append(key, "Authorization", "Bearer "+token)...)
	r.waitForQuestion(1)
	r.do("POST", schema.At(schema.PathRespond, 1), `{"permission":true}`, ada.headers()...)
	require.True(t, *r.answerOf(<-first).Permission)
	other := r.newAgentToken(ada, "other").Secret
	for _, headers := range [][]string{append(key, "Authorization", "Bearer "+other), key} {
		head := r.store.Head()
		second := r.ask(t.Context(), `{"question":"Go?","session_id":"s"}`, headers...)
		id := schema.EventID(head + 1)
		require.Eventually(t, func() bool { return r.store.Head() > head }, waitLimit, time.Millisecond)
		require.Empty(t, second)
		r.do("POST", schema.At(schema.PathRespond, id), `{"permission":false}`, ada.headers()...)
		require.False(t, *r.answerOf(<-second).Permission)
	}
}

func TestAsk_PrefersWait(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	resp, b := r.do("POST", schema.PathAsk, `{"question":"Go?"}`, "Prefer", `respond-async, wait=0`)
	require.Equal(t, 202, resp.StatusCode)
	require.Equal(t, "/events/1/response", resp.Header.Get("Location"))
	require.Equal(t, "wait=0", resp.Header.Get("Preference-Applied"))
	var e schema.Event
	require.NoError(t, json.Unmarshal(b, &e))
	require.NotEmpty(t, e.RequestSecret)
	pending, _ := r.do("GET", resp.Header.Get("Location"), "", schema.SecretHeader, e.RequestSecret)
	require.Equal(t, 204, pending.StatusCode)
	r.answer(1, `{"permission":true}`)
	_, b = r.do("GET", resp.Header.Get("Location")+"?wait=1", "", schema.SecretHeader, e.RequestSecret)
	require.Contains(t, string(b), `"permission":true`)

	done := r.ask(t.Context(), `{"question":"Go?"}`, "Prefer", "wait=60")
	r.waitForQuestion(4)
	r.answer(4, `{"permission":false}`)
	require.False(t, *r.answerOf(<-done).Permission)
}

func TestAsk_WithdrawalIsNoApproval(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	secret := strings.Repeat("s", 32)
	for id, body := range map[schema.EventID]string{1: `{"requestSecret":"` + secret + `"}`} {
		done := r.ask(t.Context(), `{"question":"Go?","requestSecret":"`+secret+`"}`)
		r.waitForQuestion(id)
		r.do("POST", schema.At(schema.PathCancel, id), body)
		a := r.answerOf(<-done)
		require.Equal(t, schema.Cancelled, a.Outcome)
		require.False(t, *a.Permission)
	}
}

// A hub that stops tells a program without a key that no one answered. A program with a key gets an
// incomplete response, and the question stays open for its next request.
func TestAsk_ShutdownEndsResponses(t *testing.T) {
	t.Parallel()
	r := setup(t)
	once := r.ask(t.Context(), `{"question":"Once?"}`)
	r.waitForQuestion(1)
	again := r.ask(t.Context(), `{"question":"Again?"}`, schema.IdempotencyHeader, "k")
	r.waitForQuestion(2)
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 2 }, waitLimit, time.Millisecond)
	r.shutdown()
	require.NotContains(t, r.log.String(), forcedClose)
	a := r.answerOf(<-once)
	require.Equal(t, schema.Cancelled, a.Outcome)
	require.False(t, *a.Permission)
	require.Zero(t, (<-again).status, "the response is incomplete")
	q, err := r.store.Question(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, schema.Pending, q.State)
}

func TestAsk_RevokedTokenGetsNoAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	ada := r.owner("ada")
	made := r.newAgentToken(ada, "deploy")
	done := r.ask(t.Context(), `{"question":"Go?"}`, "Authorization", "Bearer "+made.Secret)
	r.waitForQuestion(1)
	r.expectOK(nil, "DELETE "+strings.Replace(schema.PathToken, ":id", made.ID, 1), "", ada.headers()...)
	require.Equal(t, schema.Cancelled, r.answerOf(<-done).Outcome)
	require.Equal(t, schema.ByOrphaned, r.waitUntilSettled(1).Source)
}

// Requests beyond the waiting places, which hooks share, are refused before anything is stored.
func TestAsk_LimitsWaitingRequests(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks, func(c *Config) { c.Places.Waiting = middleware.PlaceLimit{Total: 2, PerOwner: 2} })
	hookCall := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	r.waitForQuestion(1)
	waiting := r.ask(t.Context(), `{"question":"Go?"}`)
	r.waitForQuestion(2)
	resp, b := r.do("POST", schema.PathAsk, `{"question":"Go?"}`)
	require.Equal(t, 503, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Contains(t, r.problem(resp, b).Hint, "Nothing was stored")
	require.EqualValues(t, 2, r.store.Head())
	r.answer(1, `{"permission":false}`)
	r.answer(2, `{"permission":false}`)
	<-hookCall
	<-waiting
}

// 600 programs ask at the same time. Each gets its own answer or a 503; nothing is lost or mixed up.
func TestAsk_ManyAtOnce(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.Places.Waiting = middleware.PlaceLimit{Total: 512, PerOwner: 512} })
	r.client.Timeout = 4 * waitLimit
	const asks = 600
	var all []<-chan hookResult
	for i := range asks {
		all = append(all, r.ask(t.Context(), fmt.Sprintf(`{"question":"%d?","choices":["%d","other"]}`, i, i)))
	}
	answered := map[schema.EventID]bool{}
	refused := 0
	for done := false; !done; {
		var page []schema.Event
		_, b := r.do("GET", schema.PathEvents+"?status=pending&limit=1000", "")
		require.NoError(t, json.Unmarshal(b, &page))
		for _, e := range page {
			if !answered[e.ID] {
				answered[e.ID] = true
				r.answer(e.ID, fmt.Sprintf(`{"choice":%q}`, e.HumanInTheLoop.Choices[0]))
			}
		}
		done = true
		for _, c := range all {
			done = done && len(c) == 1
		}
	}
	for i, c := range all {
		h := <-c
		if h.status == http.StatusServiceUnavailable {
			refused++
			continue
		}
		require.Equal(t, fmt.Sprint(i), *r.answerOf(h).Choice)
	}
	require.Len(t, answered, asks-refused)
}
