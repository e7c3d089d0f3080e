package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestSendV1_StateFollowsCloseCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script    func(*peerConn)
		want      schema.DeliveryState
		confirmed string
	}{
		"1000":       {closeWith(1000), schema.Delivered, "close"},
		"1001":       {closeWith(1001), schema.Delivered, "close"},
		"1005":       {closeWith(1005), schema.Delivered, "close"},
		"1009":       {closeWith(1009), schema.Unconfirmed, ""},
		"1011":       {closeWith(1011), schema.Unconfirmed, ""},
		"4000":       {closeWith(4000), schema.Unconfirmed, ""},
		"EOF (1006)": {func(p *peerConn) { p.upgrade(); _, _, _ = p.read() }, schema.Unconfirmed, ""},
		"reset":      {func(p *peerConn) { p.upgrade(); _, _, _ = p.read(); p.reset() }, schema.Unconfirmed, ""},
		"keeps the connection open": {func(p *peerConn) {
			p.upgrade()
			_, _, _ = p.read()
			if op, _, err := p.read(); err == nil && op == 8 {
				p.sendClose(1000)
			}
		}, schema.Delivered, "write"},
		"sends, then closes": {func(p *peerConn) {
			p.upgrade()
			_, _, _ = p.read()
			p.write(1, []byte(`{"type":"thanks"}`))
			p.sendClose(1000)
		}, schema.Delivered, "close"},
		"stalls":         {func(p *peerConn) { p.upgrade(); _, _, _ = p.read(); p.hang() }, schema.Unconfirmed, ""},
		"never reads":    {func(p *peerConn) { p.upgrade(); p.hang() }, schema.Unconfirmed, ""},
		"sends too much": {func(p *peerConn) { p.upgrade(); _, _, _ = p.read(); p.write(1, make([]byte, 9000)); p.hang() }, schema.Unconfirmed, ""},
		"no close reply": {func(p *peerConn) {
			p.upgrade()
			_, _, _ = p.read()
			p.write(8, []byte{3, 232})
		}, schema.Delivered, "close"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			l := startListener(t, c.script)
			d := h.dispatcher()
			// Only the silent listeners may run into a timer. A listener that is slow to be
			// scheduled must not.
			d.timeouts.close = 100 * time.Millisecond
			switch name {
			case "keeps the connection open":
				d.timeouts.idle, d.timeouts.close = 50*time.Millisecond, waitLimit
			case "stalls", "never reads":
				d.timeouts.idle = 50 * time.Millisecond
			}
			id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
			h.startDispatcher(d)
			st, q := h.waitForDelivery(id, inState(schema.Delivered, schema.Unconfirmed, schema.Unreachable))
			require.Equal(t, c.want, st.Delivery.State, st.Delivery.LastError)
			require.Equal(t, c.confirmed, st.Delivery.Confirmed)
			require.Equal(t, c.want == schema.Delivered, st.Delivery.DeliveredAt > 0)
			require.Equal(t, c.want == schema.Unconfirmed, st.Delivery.LastError != "")
			require.Zero(t, st.Delivery.NextAttemptAt)
			require.Equal(t, 1, st.Delivery.Attempts)
			require.True(t, q.Delivery.Sent)
			require.EqualValues(t, 4, st.Revision, "created, answered, sending, done")

			// The answer must never be sent again.
			h.advance(30 * time.Second)
			h.redispatch(id)
			due, _, err := h.store.LeaseDeliveries(t.Context(), h.clock(), h.clock(), 10)
			require.NoError(t, err)
			require.Empty(t, due)
			dials, frames := l.counts()
			require.Equal(t, 1, dials)
			require.LessOrEqual(t, frames, 1)
		})
	}
}

func TestSendV1_FrameAndHandshakeHeaders(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	headers := make(chan http.Header, 1)
	l := startListener(t, func(p *peerConn) { headers <- p.req.Header.Clone(); closeWith(1000)(p) })
	d := h.dispatcher()
	h.startDispatcher(d)
	url := strings.Replace(l.url(), "127.0.0.1", "localhost", 1) + "?k=v"
	id := h.addAnswered(store.NewQuestion{URL: url, Protocol: 1}, "")
	h.waitForDelivery(id, inState(schema.Delivered))
	a := l.answer(0)
	require.True(t, *a.Permission)
	require.Zero(t, a.Attempt)
	require.Equal(t, id, a.HookEvent.ID)
	require.Equal(t, url, a.HookEvent.HumanInTheLoop.ResponseWebSocketURL, "models of version 1 agents require it")
	require.JSONEq(t, `{"agent_name":"alice","permission_type":"env_file_access"}`, string(a.HookEvent.Payload))
	got := <-headers
	for _, name := range []string{"Origin", "Cookie", "Authorization", "Sec-Websocket-Extensions", "Referer", schema.ChallengeHeader} {
		require.Empty(t, got.Get(name), name)
	}
}

func TestSendV2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(*peerConn)
		want   schema.DeliveryState
		retry  bool
	}{
		"accepted":  {acknowledge(schema.AckAccepted), schema.Acked, false},
		"duplicate": {acknowledge(schema.AckDuplicate), schema.Acked, false},
		"no result": {acknowledge("-"), schema.Acked, false},
		"too late":  {acknowledge(schema.AckTooLate), schema.TooLate, false},
		"mismatch":  {acknowledge(schema.AckMismatch), schema.Refused, false},
		"untrusted": {acknowledge(schema.AckUntrusted), schema.Refused, false},
		"ack, then disconnect": {func(p *peerConn) {
			p.upgrade()
			_, payload, _ := p.read()
			p.ack(payload, schema.AckAccepted)
		}, schema.Acked, false},
		"ack, then silent": {func(p *peerConn) {
			p.upgrade()
			_, payload, _ := p.read()
			p.ack(payload, schema.AckAccepted)
			p.hang()
		}, schema.Acked, false},
		"other messages first": {func(p *peerConn) {
			p.upgrade()
			_, payload, _ := p.read()
			p.write(1, []byte(`hello`))
			p.write(1, []byte(`{"type":"ack","answerId":"another"}`))
			p.ack(payload, schema.AckAccepted)
			p.hang()
		}, schema.Acked, false},
		"closes without ack": {closeWith(1000), schema.Unconfirmed, true},
		"1011":               {closeWith(1011), schema.Unconfirmed, true},
		"hangs up":           {func(p *peerConn) { p.upgrade(); _, _, _ = p.read() }, schema.Unconfirmed, true},
		"silent":             {func(p *peerConn) { p.upgrade(); p.hang() }, schema.Unconfirmed, true},
		"ack of another answer": {func(p *peerConn) {
			p.upgrade()
			_, _, _ = p.read()
			p.write(1, []byte(`{"type":"ack","answerId":"another"}`))
			p.sendClose(1000)
		}, schema.Unconfirmed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			l := startListener(t, c.script)
			d := h.dispatcher()
			if name == "silent" {
				d.timeouts.ack = 50 * time.Millisecond
			}
			d.timeouts.close, d.Address = 100*time.Millisecond, "http://hub.example:4000"
			h.startDispatcher(d)
			id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
			st, q := h.waitForDelivery(id, hasAttempts(1))
			require.Equal(t, c.want, st.Delivery.State, st.Delivery.LastError)
			require.Equal(t, c.retry, st.Delivery.NextAttemptAt > 0)
			require.Equal(t, c.retry, !q.Delivery.Due.IsZero())
			require.False(t, q.Delivery.Sent)
			require.Equal(t, name == "untrusted", strings.HasSuffix(st.Delivery.LastError,
				"because it trusts another hub; if this hub replaced that one, run on the agent's machine: hookback trust http://hub.example:4000"))
			if _, frames := l.counts(); frames > 0 {
				require.Equal(t, q.Delivery.AnswerID, l.answer(0).AnswerID)
				require.Equal(t, 1, l.answer(0).Attempt)
			}
		})
	}
}

func TestDial_HandshakeFailures(t *testing.T) {
	t.Parallel()
	canary := startListener(t, closeWith(1000))
	redirect := func(p *peerConn) { p.refuse(302, "Location: "+strings.Replace(canary.url(), "ws", "http", 1)) }
	stranger := closeWith(1000)
	for name, c := range map[string]struct {
		script  func(*peerConn)
		key     string
		problem string
		state   schema.DeliveryState // empty: schema.Unreachable
	}{
		"401":          {func(p *peerConn) { p.refuse(401) }, "", "HTTP 401", schema.Refused},
		"403":          {func(p *peerConn) { p.refuse(403) }, "", "HTTP 403", schema.Refused},
		"404":          {func(p *peerConn) { p.refuse(404) }, "", "HTTP 404", schema.Refused},
		"410":          {func(p *peerConn) { p.refuse(410) }, "", "HTTP 410", schema.Refused},
		"500":          {func(p *peerConn) { p.refuse(500) }, "", "HTTP 500", ""},
		"200":          {func(p *peerConn) { p.refuse(200) }, "", "HTTP 200", ""},
		"redirect":     {redirect, "", "redirect", ""},
		"slow":         {func(p *peerConn) { p.hang() }, "", "no handshake with", ""},
		"hangs up":     {func(*peerConn) {}, "", "closed the connection", ""},
		"not a socket": {func(p *peerConn) { p.refuse(101, "Upgrade: websocket", "Connection: Upgrade") }, "", "not a WebSocket listener", ""},
		"garbage":      {func(p *peerConn) { _, _ = io.WriteString(p, "SSH-2.0-OpenSSH\r\n") }, "", "closed the connection", ""},
		"no proof":     {stranger, "key", "another program listens on this port", schema.Refused},
		"wrong proof": {func(p *peerConn) { p.upgrade(schema.ProofHeader + ": x"); p.hang() }, "key",
			"another program listens on this port", schema.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			l := startListener(t, c.script)
			d := h.dispatcher()
			if name == "slow" {
				d.timeouts.dial = 300 * time.Millisecond
			}
			ticks := make(chan time.Time)
			d.after = func(time.Duration) <-chan time.Time { return ticks }
			h.startDispatcher(d)
			id := h.addAnswered(store.NewQuestion{URL: l.url(), ListenerKey: c.key, Protocol: 1}, "")
			st, q := h.waitForDelivery(id, hasAttempts(1))
			require.Contains(t, st.Delivery.LastError, c.problem)
			state := cmp.Or(c.state, schema.Unreachable)
			require.Equal(t, state, st.Delivery.State)
			require.EqualValues(t, h.now.Load()+200, st.Delivery.NextAttemptAt)
			require.False(t, q.Delivery.Sent)
			for n := 2; n <= 3; n++ {
				h.advance(time.Second)
				h.poll()
				st, _ = h.waitForDelivery(id, hasAttempts(n))
			}
			require.Contains(t, st.Delivery.LastError, c.problem)
			require.Equal(t, state, st.Delivery.State)
			require.NotZero(t, st.Delivery.NextAttemptAt)
			dials, frames := l.counts()
			require.Equal(t, 3, dials)
			require.Zero(t, frames, "a frame was sent after a failed handshake")
		})
	}
	dials, _ := canary.counts()
	require.Zero(t, dials, "a redirect was followed")
}

// TestDispatcher_RetriesAfterRefusals: a refusing server may be a proxy that starts before its
// agent, so a refusal is not final before the end of the retries.
func TestDispatcher_RetriesAfterRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var isUp atomic.Bool
	l := startListener(t, func(p *peerConn) {
		if !isUp.Load() {
			p.refuse(404)
			return
		}
		acknowledge(schema.AckAccepted)(p)
	})
	d := h.dispatcher()
	ticks := make(chan time.Time)
	d.after = func(time.Duration) <-chan time.Time { return ticks }
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	for n := 1; n <= 12; n++ {
		st, _ := h.waitForDelivery(id, hasAttempts(n))
		require.Equal(t, schema.Refused, st.Delivery.State, n)
		pause := time.Minute
		if n <= len(retryDelays) {
			pause = retryDelays[n-1]
		}
		require.EqualValues(t, h.clock().Add(pause).UnixMilli(), st.Delivery.NextAttemptAt, n)
		isUp.Store(n == 12)
		h.advance(pause)
		h.poll()
	}
	h.waitForDelivery(id, inState(schema.Acked))
	_, frames := l.counts()
	require.Equal(t, 1, frames)
}

// TestDispatcher_RefusalEndsWithRetryWindow: the state stays refused, so that a person learns why
// the answer did not arrive.
func TestDispatcher_RefusalEndsWithRetryWindow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, func(p *peerConn) { p.refuse(403) })
	d := h.dispatcher()
	ticks := make(chan time.Time)
	d.after = func(time.Duration) <-chan time.Time { return ticks }
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	_, q := h.waitForDelivery(id, hasAttempts(1))
	h.now.Store(q.Delivery.Until.UnixMilli() + 1)
	h.poll()
	st, q := h.waitForDelivery(id, func(d *schema.Delivery) bool { return d.NextAttemptAt == 0 })
	require.Equal(t, schema.Refused, st.Delivery.State)
	require.True(t, q.Delivery.Due.IsZero())
	dials, _ := l.counts()
	require.Equal(t, 1, dials)
}

// TestDial_ChecksCertificate: a listener elsewhere is reached by TLS, which must be trusted.
func TestDial_ChecksCertificate(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	requests := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests <- struct{}{} }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	d := h.dispatcher()
	var err error
	d.DialPolicy, err = NewDialPolicy(DialPolicyConfig{Allow: []string{server.Listener.Addr().String()}})
	require.NoError(t, err)
	ticks := make(chan time.Time)
	d.after = func(time.Duration) <-chan time.Time { return ticks }
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: "wss" + server.URL[len("https"):] + "/" + secretPath, Protocol: 2}, "")
	st, _ := h.waitForDelivery(id, hasAttempts(1))
	require.Contains(t, st.Delivery.LastError, "is not trusted")
	require.Empty(t, requests)
}

func TestDial_AcceptsValidProof(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, func(p *peerConn) {
		p.upgrade(schema.ProofHeader + ": " + schema.ListenerProof("key", p.req.Header.Get(schema.ChallengeHeader)))
		_, payload, _ := p.read()
		p.ack(payload, schema.AckAccepted)
		p.sendClose(1000)
	})
	d := h.dispatcher()
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2}, "")
	h.waitForDelivery(id, inState(schema.Acked))
}

func TestDispatcher_DialsNoBlockedAddress(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, closeWith(1000))
	d := h.dispatcher()
	var err error
	d.DialPolicy, err = NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(portOfURL(t, l))}})
	require.NoError(t, err)
	h.startDispatcher(d)
	for _, url := range []string{l.url(), "ws://10.1.2.3:5000/" + secretPath, "http://localhost:5000/" + secretPath} {
		id := h.addAnswered(store.NewQuestion{URL: url, Protocol: 1}, "")
		st, q := h.waitForDelivery(id, inState(schema.Blocked))
		require.Contains(t, st.Delivery.LastError, ErrBlocked.Error())
		require.Zero(t, st.Delivery.Attempts)
		require.True(t, q.Delivery.Due.IsZero())
	}
	dials, _ := l.counts()
	require.Zero(t, dials)
}

func TestSendV1Once_RetriesWhenListenerClosedFirst(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, func(p *peerConn) { p.upgrade(); p.sendClose(1001) })
	d := h.dispatcher()
	q, err := h.store.Question(t.Context(), h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 1}, ""))
	require.NoError(t, err)
	to, err := h.policy.checkURL(q.URL)
	require.NoError(t, err)
	conn, _ := d.dial(t.Context(), to, q)
	require.NotNil(t, conn)
	<-conn.done
	require.NoError(t, d.sendV1Once(t.Context(), q, conn, 1, &place{dispatcher: d}))
	conn.close(0)
	st, q := h.waitForDelivery(q.ID, func(*schema.Delivery) bool { return true })
	require.Equal(t, schema.Unreachable, st.Delivery.State)
	require.Contains(t, st.Delivery.LastError, "code 1001")
	require.NotZero(t, st.Delivery.NextAttemptAt, "nothing was sent, so it may be sent later")
	require.False(t, q.Delivery.Sent)
}

func TestDispatcher_SendsNothingAfterPull(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var id schema.EventID
	pull := func() {
		q, err := h.store.Question(context.Background(), id)
		require.NoError(t, err)
		delivery := *q.Delivery
		delivery.State = schema.Pulled
		_, err = h.dispatcher().applyDelivery(context.Background(), q, &delivery, &schema.Delivery{State: schema.Pulled})
		require.NoError(t, err)
	}
	for _, script := range []func(*peerConn){
		func(p *peerConn) { pull(); p.refuse(500) },
		func(p *peerConn) { pull(); closeWith(1000)(p) },
	} {
		l := startListener(t, script)
		d := h.dispatcher()
		id = h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
		stop := h.startDispatcher(d)
		h.waitForDelivery(id, inState(schema.Pulled))
		stop()
		st, _ := h.waitForDelivery(id, func(*schema.Delivery) bool { return true })
		require.Equal(t, schema.Pulled, st.Delivery.State)
		_, frames := l.counts()
		require.Zero(t, frames, "the answer was sent although the agent had pulled it")
	}
}

func TestDispatcher_SwitchesToNewURL(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, acknowledge(schema.AckAccepted))
	var q *store.Question
	replay := func() {
		_, err := h.store.Append(context.Background(), &store.EventDraft{
			Event: store.Event{
				UID: uuid.Must(uuid.NewV7()).String(), Payload: q.Payload, Envelope: q.Envelope, Question: q.Event.Question, Status: q.Status,
				App: "app", Session: "s", Type: "HumanInTheLoop",
			},
			NewQuestion: &store.NewQuestion{URL: l.url(), Protocol: 2, BodyHash: []byte("body")}, IdempotencyKey: "again",
		})
		require.NoError(t, err)
	}
	old := startListener(t, func(p *peerConn) { replay(); p.refuse(404) })
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Revision: 1})
	require.NoError(t, err)
	r, err := h.store.Append(t.Context(), &store.EventDraft{
		Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), App: "app", Session: "s", Type: "HumanInTheLoop", Envelope: []byte(`"a":1`), Payload: []byte(`{}`),
			Question: []byte(`{"question":"?","type":"permission"}`), Status: status,
		},
		NewQuestion: &store.NewQuestion{URL: old.url(), Protocol: 2, BodyHash: []byte("body")}, IdempotencyKey: "again",
	})
	require.NoError(t, err)
	q, err = h.store.Question(t.Context(), r.Event.ID)
	require.NoError(t, err)
	id := h.answerQuestion(q)
	d := h.dispatcher()
	h.startDispatcher(d)
	h.waitForDelivery(id, inState(schema.Acked))
	dials, _ := old.counts()
	require.Equal(t, 1, dials)
}

func TestBuildFrame(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	big := strings.Repeat("x", 2*schema.MaxFrame)
	for _, c := range []struct {
		payload, envelope string
		truncated         bool
		hasQuestion       bool
	}{
		{`{"agent_name":"alice"}`, `"source_app":"app"`, false, true},
		{fmt.Sprintf(`{"agent_name":"alice","permission_type":"p","big":%q}`, big), `"source_app":"app"`, true, true},
		{fmt.Sprintf(`{"agent_name":"alice","AGENT_NAME":"bob","permission_type":"p","big":%q}`, big), `"source_app":"app"`, true, true},
		{fmt.Sprintf(`{"agent_name":"alice","permission_type":%q}`, big), fmt.Sprintf(`"source_app":"app","summary":%q`, big), true, false},
	} {
		for protocol := 1; protocol <= 2; protocol++ {
			id := h.addAnswered(store.NewQuestion{URL: "ws://127.0.0.1:5000", Protocol: protocol}, c.payload)
			q, err := h.store.Question(t.Context(), id)
			require.NoError(t, err)
			q.Envelope, q.App = []byte(c.envelope), "app"
			frame := buildFrame(q, 7)
			require.LessOrEqual(t, len(frame), schema.MaxFrame)
			var a schema.Answer
			require.NoError(t, json.Unmarshal(frame, &a))
			require.True(t, *a.Permission)
			require.Equal(t, c.truncated, a.HookEventTruncated)
			require.Equal(t, id, a.HookEvent.ID)
			require.Equal(t, "app", a.HookEvent.SourceApp)
			require.Contains(t, string(a.HookEvent.Payload), `"agent_name":"alice"`)
			require.Equal(t, c.hasQuestion, a.HookEvent.HumanInTheLoop != nil)
			require.Equal(t, (protocol-1)*7, a.Attempt)
			require.Equal(t, q.Delivery.AnswerID, a.AnswerID)

			// A long answer is also part of the status.
			q.Answer = fmt.Appendf(nil, `{"permission":true,"answerId":%q,"comment":%q}`, a.AnswerID, big[:3*schema.MaxFrame/4])
			q.Status = fmt.Appendf(nil, `{"status":"responded","response":%s}`, q.Answer)
			frame = buildFrame(q, 7)
			require.LessOrEqual(t, len(frame), schema.MaxFrame)
			require.NoError(t, json.Unmarshal(frame, &a))
			require.Contains(t, string(a.HookEvent.Payload), `"agent_name":"alice"`)
		}
	}
}

// TestRecordResult_StopsRetriesOnceHandled: if a person marks an answer as handled during an
// attempt, there is no further attempt, and the result of the last one is still stored.
func TestRecordResult_StopsRetriesOnceHandled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.dispatcher()
	id := h.addAnswered(store.NewQuestion{URL: "ws://127.0.0.1:9/" + secretPath, Protocol: 2}, "")
	before, err := h.store.Question(t.Context(), id)
	require.NoError(t, err)
	handled := *before.Delivery
	handled.Handled, handled.Due = h.clock(), time.Time{}
	_, err = d.applyDelivery(t.Context(), before, &handled, &schema.Delivery{State: schema.Queued})
	require.NoError(t, err)

	require.NoError(t, d.recordResult(t.Context(), before, 1, attemptResult{state: schema.Unreachable, retry: true, problem: "connection refused"}))
	st, q := h.waitForDelivery(id, hasAttempts(1))
	require.Equal(t, &schema.Delivery{
		State: schema.Unreachable, Attempts: 1, LastError: "connection refused", HandledAt: schema.Millis(h.clock().UnixMilli()),
	}, st.Delivery)
	require.True(t, q.Delivery.Due.IsZero())
	require.False(t, isDue(q, h.clock()))
}
