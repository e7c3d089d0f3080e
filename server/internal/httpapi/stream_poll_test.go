package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
)

// poller follows /stream without a WebSocket.
type poller struct {
	*harness
	query   url.Values
	headers []string
}

func (r *harness) poller() *poller {
	return &poller{harness: r, query: url.Values{"v": {"2"}, "poll": {"start"}}}
}

// next returns the frames of the next response without the heartbeat, and moves behind them.
func (p *poller) next() []schema.Frame {
	p.t.Helper()
	resp, body := p.do("GET", "/stream?"+p.query.Encode(), "", p.headers...)
	require.Equal(p.t, 200, resp.StatusCode, string(body))
	var frames []schema.Frame
	require.NoError(p.t, json.Unmarshal(body, &frames))
	last := len(frames) - 1
	require.Equal(p.t, schema.HeartbeatFrame, frames[last].Type)
	var beat schema.Heartbeat
	require.NoError(p.t, json.Unmarshal(frames[last].Data, &beat))
	require.NotZero(p.t, beat.ServerTime)
	p.query.Set("poll", beat.Poll)
	for _, f := range frames[:last] {
		switch f.Type {
		case schema.HelloFrame, schema.Resync:
			var hello schema.Hello
			require.NoError(p.t, json.Unmarshal(f.Data, &hello))
			p.query.Set("hub", hello.HubID)
			p.query.Set("epoch", hello.Epoch)
			p.query.Set("after", fmt.Sprint(hello.Seq))
		case schema.EventFrame, schema.StatusFrame:
			p.query.Set("after", fmt.Sprint(f.Seq))
		default:
			require.Zero(p.t, f.Seq)
		}
	}
	return frames[:last]
}

func typesOf(frames []schema.Frame) (types []schema.FrameType) {
	for _, f := range frames {
		types = append(types, f.Type)
	}
	return types
}

func TestPoll_ReturnsTheFramesOfAStream(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1))
	p := r.poller()
	require.Equal(t, []schema.FrameType{schema.HelloFrame}, typesOf(p.next()))

	waiting := make(chan []schema.Frame)
	go func() { waiting <- p.next() }()
	question := r.post(event(2, permission))
	frames := <-waiting
	require.Equal(t, []schema.FrameType{schema.EventFrame}, typesOf(frames))
	require.Equal(t, int64(question.ID), frames[0].Seq)

	r.respond(question.ID)
	later := r.post(event(3))
	var got []schema.Frame
	for len(got) == 0 || got[len(got)-1].Type != schema.EventFrame {
		got = append(got, p.next()...)
	}
	require.Contains(t, typesOf(got), schema.StatusFrame)
	var last schema.Event
	require.NoError(t, json.Unmarshal(got[len(got)-1].Data, &last))
	require.Equal(t, later.ID, last.ID)
}

func TestPoll_LosesNothingBetweenRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	p := r.poller()
	p.next()
	f := r.freeze(control.FreezeDraft{Scope: control.FreezeAll, Reason: "prod incident"})
	r.unfreeze(f)
	frames := p.next()
	require.Contains(t, typesOf(frames), schema.FreezeFrame)
	for _, f := range frames {
		if f.Type == schema.FreezeFrame {
			require.JSONEq(t, "[]", string(f.Data), "the present, not the past")
		}
	}
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll, Reason: "prod incident"})
	require.Contains(t, typesOf(r.poller().next()), schema.FreezeFrame, "with the hello")
}

func TestPoll_StartsAnewWithAnotherPosition(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1))
	for query, want := range map[string][]schema.FrameType{
		"poll=1.2.elsewhere&after=0": {schema.HelloFrame, schema.EventFrame},
		"poll=start&after=99":        {schema.HelloFrame, schema.Resync},
		"poll=start&after=0&hub=x":   {schema.HelloFrame, schema.Resync},
	} {
		resp, body := r.do("GET", "/stream?v=2&"+query, "")
		require.Equal(t, 200, resp.StatusCode, query)
		var frames []schema.Frame
		require.NoError(t, json.Unmarshal(body, &frames))
		require.Equal(t, append(want, schema.HeartbeatFrame), typesOf(frames), query)
	}
}

func TestPoll_EndsAfterTheHeartbeatInterval(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.PingInterval = 50 * time.Millisecond })
	p := r.poller()
	p.next()
	require.Empty(t, p.next())
	require.Eventually(t, func() bool { // a slow machine can reach the end of the interval between two polls
		p.next()
		return r.Hub.Viewers.Count() == 1
	}, waitLimit, time.Millisecond, "a page that polls counts as one viewer")
	require.Eventually(t, func() bool { return r.Hub.Viewers.Count() == 0 }, waitLimit, time.Millisecond)
}

func TestPoll_ChecksOriginAndVersionLikeAStream(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, _ := r.do("GET", "/stream?v=2&poll=start", "", "Origin", "https://other.example")
	require.Equal(t, 403, resp.StatusCode)
	resp, _ = r.do("GET", "/stream?poll=start", "")
	require.Equal(t, 426, resp.StatusCode, "version 1 has no poll")
}

// TestPoll_RevokedCredentialsGetNoMoreFrames: what is stored after the revocation is not for this caller any more.
func TestPoll_RevokedCredentialsGetNoMoreFrames(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ctx, revoke := context.WithCancelCause(t.Context())
	revoke(schema.ErrSignIn)
	r.post(event(1))
	_, err := r.streams.Poll(ctx, stream.Cursor{Version: 2, After: 0}, "start")
	require.ErrorIs(t, err, schema.ErrSignIn)

	ada := r.owner("ada")
	token, operator := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	p := r.poller()
	p.headers = operator
	p.next()
	ended := make(chan int)
	go func() {
		resp, _ := p.do("GET", "/stream?"+p.query.Encode(), "", p.headers...)
		ended <- resp.StatusCode
	}()
	require.Eventually(t, func() bool { return r.places.InUse(middleware.SignedInPlace) == 1 }, waitLimit, time.Millisecond)
	r.expectOK(nil, "DELETE "+schema.PathTokens+"/"+token.ID, "", ada.headers()...)
	require.Equal(t, 401, <-ended)
}
