package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// clinic is a hub as the doctor uses it: an agent's library, a page that is open,
// and the person at it.
type clinic struct {
	url    string
	http   *http.Client
	env    func(string) string
	cancel context.CancelFunc
	page   sync.WaitGroup
}

// doctorApp is the application that canaries come from.
const doctorApp = "hookback-doctor"

// examineHub looks whether the hub answers and keeps an event. It is nil when not.
func (d *doctor) examineHub(ctx context.Context) *clinic {
	hubs, err := agentclient.Hubs(d.hub)
	if err != nil {
		d.wrong("", "correct HOOKBACK_URL or --hub", "%v", err)
		return nil
	}
	hub, health, err := openClinic(ctx, hubs[0], d.env)
	if err != nil {
		d.wrong("", "start one (see the README), or name another with --hub", "no hub answers at %s: %v", hubs[0], causeOf(err))
		return nil
	}
	d.well("", "the hub at %s answers (%s, version %s)", hub.url, health.Status, health.Version)
	took, err := hub.canary(ctx)
	if err != nil {
		d.wrong("", "look at the hub's log and disk", "an event was sent, and is not there: %v", err)
		hub.close()
		return nil
	}
	d.well("", "an event arrives, in %d ms", took.Milliseconds())
	return hub
}

// causeOf is what is left of a network's error without the names of the layers it
// came through, such as "connection refused".
func causeOf(err error) error {
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*net.OpError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if inner := (*os.SyscallError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return err
}

// openClinic asks the hub how it is and opens a page at it: without one, hooks don't
// wait for an answer.
func openClinic(ctx context.Context, address string, env func(string) string) (c *clinic, health schema.Health, err error) {
	c = &clinic{url: address, env: env, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	if err := c.call(ctx, http.MethodGet, schema.PathHealth, nil, &health); err != nil {
		return nil, health, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	header := http.Header{}
	authorize(header, env)
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(address, "http")+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		c.close()
		return nil, health, fmt.Errorf("it lets nobody follow its events: %w", err)
	}
	conn.SetReadLimit(-1)
	c.page.Go(func() {
		defer func() { _ = conn.CloseNow() }()
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	})
	return c, health, nil
}

func (c *clinic) close() {
	c.cancel()
	c.page.Wait()
	c.http.CloseIdleConnections()
}

// call makes one request and reads its answer into to.
func (c *clinic) call(ctx context.Context, method, path string, body, to any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	authorize(req.Header, c.env)
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
	return json.Unmarshal(text, to)
}

// canary sends an event and looks for it.
func (c *clinic) canary(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	client := agentclient.New(agentclient.Options{Hubs: []string{c.url}, SourceApp: doctorApp, SessionID: doctorSession()})
	defer func() { _ = client.Close() }()
	sent, err := client.Send(ctx, schema.Event{HookEventType: "Notification", Summary: "hookback doctor: does this arrive?"})
	if err != nil {
		return 0, err
	}
	var there schema.Event
	if err := c.call(ctx, http.MethodGet, schema.At(schema.PathEvent, sent.ID), nil, &there); err != nil {
		return 0, err
	}
	if there.SessionID != sent.SessionID {
		return 0, fmt.Errorf("event %d is another one", sent.ID)
	}
	return time.Since(began), nil
}

// recentEvents is how many of the hub's newest events are looked at.
const recentEvents = 500

// lastOf is when the hub heard of an agent last, among its newest events; canaries
// don't count.
func (c *clinic) lastOf(ctx context.Context, agent string) (last time.Time, among int, err error) {
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

// questions are those of a session that still wait.
func (c *clinic) questions(ctx context.Context, session string) (waiting []schema.Event, err error) {
	query := url.Values{"session_id": {session}, "status": {string(schema.Pending)}}
	err = c.call(ctx, http.MethodGet, schema.PathEvents+"?"+query.Encode(), nil, &waiting)
	return waiting, err
}

// deny waits for the session's question and answers it with a no.
func (c *clinic) deny(ctx context.Context, session, reason string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		waiting, err := c.questions(ctx, session)
		if err != nil {
			return err
		}
		if len(waiting) > 0 {
			no := false
			// The hook may have its answer, and have ended, before the hub says so here.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTime)
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

// tidy takes back what still waits of a session: no card is left behind.
func (c *clinic) tidy(session string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	waiting, err := c.questions(ctx, session)
	if err != nil {
		return // the question has a lifeline, and its hook is gone
	}
	for i := range waiting {
		_ = c.call(ctx, http.MethodPost, schema.At(schema.PathCancel, waiting[i].ID), schema.Cancel{Reason: "hookback doctor is done"}, &schema.Event{})
	}
}
