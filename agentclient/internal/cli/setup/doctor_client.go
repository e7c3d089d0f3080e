package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// doctorClient talks to a hub in three roles: as an agent, as an open dashboard, and as the
// person who answers.
type doctorClient struct {
	url     string
	way     string // how the hub was reached: over TCP or through a socket
	http    *http.Client
	options agentclient.Options
	cancel  context.CancelFunc
	stream  sync.WaitGroup
}

// doctorApp is the source_app of all probes.
const doctorApp = "hookback-doctor"

// probeTimeout limits one run of a hook with a made-up call.
const probeTimeout = 20 * time.Second

// newDoctorClient reads the hub's health and opens its event stream like a dashboard.
// Without an open dashboard, hooks do not wait for an answer.
func newDoctorClient(ctx context.Context, address string, o agentclient.Options) (c *doctorClient, health schema.Health, err error) {
	c = &doctorClient{url: address, options: o, http: &http.Client{Timeout: 10 * time.Second, Transport: socket.NewTransport(&http.Transport{Proxy: http.ProxyFromEnvironment})}}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		c.way = "TCP"
		if path, ok := info.Conn.RemoteAddr().(*net.UnixAddr); ok {
			c.way = "the socket " + path.Name
		}
	}})
	if err := c.call(traced, http.MethodGet, schema.PathHealth, nil, &health); err != nil {
		return nil, health, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	header := http.Header{}
	cli.SetToken(header, o, address)
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(socket.HTTPAddress(address), "http")+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: header, HTTPClient: c.http})
	if err != nil {
		c.close()
		return nil, health, fmt.Errorf("open the event stream: %w", err)
	}
	conn.SetReadLimit(-1)
	c.stream.Go(func() {
		defer func() { _ = conn.CloseNow() }()
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	})
	return c, health, nil
}

func (c *doctorClient) close() {
	c.cancel()
	c.stream.Wait()
	c.http.CloseIdleConnections()
}

// call sends one request and decodes the JSON response into result.
func (c *doctorClient) call(ctx context.Context, method, path string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, socket.HTTPAddress(c.url)+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	cli.SetToken(req.Header, c.options, c.url)
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return json.Unmarshal(text, result)
}

// roundTripEvent sends an event and reads it back.
func (c *doctorClient) roundTripEvent(ctx context.Context) (took time.Duration, err error) {
	start := time.Now()
	o := c.options
	o.SourceApp, o.SessionID = doctorApp, newDoctorSession()
	client := agentclient.New(o)
	defer func() { _ = client.Close() }()
	sent, err := client.Send(ctx, schema.Event{HookEventType: "Notification", Summary: "hookback doctor: test event"})
	if err != nil {
		return 0, err
	}
	var stored schema.Event
	if err := c.call(ctx, http.MethodGet, schema.At(schema.PathEvent, sent.ID), nil, &stored); err != nil {
		return 0, err
	}
	if stored.SessionID != sent.SessionID {
		return 0, fmt.Errorf("event %d is from another session", sent.ID)
	}
	return time.Since(start), nil
}

// recentEvents is the number of newest events that lastEventOf scans.
const recentEvents = 500

// lastEventOf returns the time of the newest event of an agent, probes excluded. last is
// zero if none of the scanned events is from the agent.
func (c *doctorClient) lastEventOf(ctx context.Context, agent string) (last time.Time, scanned int, err error) {
	var all []schema.Event
	query := url.Values{"limit": {fmt.Sprint(recentEvents)}}
	if err := c.call(ctx, http.MethodGet, schema.PathRecent+"?"+query.Encode(), nil, &all); err != nil {
		return last, 0, err
	}
	for i := range all {
		e := &all[i]
		if at := time.UnixMilli(int64(e.Timestamp)); e.Agent == agent && e.SourceApp != doctorApp && at.After(last) {
			last = at
		}
	}
	return last, len(all), nil
}

// pendingQuestions returns the pending questions of a session.
func (c *doctorClient) pendingQuestions(ctx context.Context, session string) (waiting []schema.Event, err error) {
	query := url.Values{"session_id": {session}, "status": {string(schema.Pending)}}
	err = c.call(ctx, http.MethodGet, schema.PathEvents+"?"+query.Encode(), nil, &waiting)
	return waiting, err
}

// deny waits for the question of the session and denies it.
func (c *doctorClient) deny(ctx context.Context, session, reason string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		waiting, err := c.pendingQuestions(ctx, session)
		if err != nil {
			return err
		}
		if len(waiting) > 0 {
			no := false
			// The hook can get its answer and exit before this request returns, which
			// cancels ctx.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
			defer cancel()
			return c.call(ctx, http.MethodPost, schema.At(schema.PathRespond, waiting[0].ID), schema.Response{Permission: &no, Reason: reason}, &schema.Event{})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// cancelPending cancels the pending questions of a session, so no request is left behind.
func (c *doctorClient) cancelPending(session string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	waiting, err := c.pendingQuestions(ctx, session)
	if err != nil {
		return // the hub abandons the question by itself: the hook has exited
	}
	for i := range waiting {
		_ = c.call(ctx, http.MethodPost, schema.At(schema.PathCancel, waiting[i].ID), schema.Cancel{Reason: "hookback doctor has finished"}, &schema.Event{})
	}
}

// newDoctorSession returns a unique session ID.
func newDoctorSession() string { return "doctor-" + strings.ToLower(rand.Text()[:12]) }
