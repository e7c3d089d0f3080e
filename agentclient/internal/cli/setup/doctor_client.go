package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// doctorClient talks to a hub as an agent, and denies its own probes.
type doctorClient struct {
	url     string
	way     string // how the hub was reached: over TCP or through a socket
	http    *http.Client
	options agentclient.Options
}

// statusError is the response of a hub with another status than 200 and 201.
type statusError struct {
	text   string
	status int
}

func (e *statusError) Error() string { return e.text }

// isStatus reports whether err is a response with one of these statuses.
func isStatus(err error, codes ...int) bool {
	var refused *statusError
	return errors.As(err, &refused) && slices.Contains(codes, refused.status)
}

// isRefused reports whether the hub requires the sign-in of a person, as a locked hub does.
func isRefused(err error) bool {
	return isStatus(err, http.StatusUnauthorized, http.StatusForbidden)
}

// errOldHub is returned by a hub without tickets.
var errOldHub = errors.New("the hub is too old to be checked")

// ticket returns a new ticket, which marks one event as a test: the hub lists no agent for it.
func (c *doctorClient) ticket(ctx context.Context) (string, error) {
	var created control.TestTicket
	err := c.call(ctx, control.PathTestTickets, "", struct{}{}, &created)
	if isStatus(err, http.StatusNotFound, http.StatusMethodNotAllowed) {
		err = errOldHub
	}
	return created.Ticket, err
}

// probeTimeout limits one run of a hook with a made-up call.
const probeTimeout = 20 * time.Second

// newDoctorClient reads the hub's health.
func newDoctorClient(ctx context.Context, address string, o agentclient.Options) (c *doctorClient, health schema.Health, err error) {
	c = &doctorClient{
		url: address, options: o,
		http: &http.Client{Timeout: 10 * time.Second, Transport: socket.NewTransport(&http.Transport{Proxy: http.ProxyFromEnvironment})},
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		c.way = "TCP"
		if path, ok := info.Conn.RemoteAddr().(*net.UnixAddr); ok {
			c.way = "the socket " + path.Name
		}
	}})
	err = c.call(traced, schema.PathHealth, "", nil, &health)
	return c, health, err
}

func (c *doctorClient) close() { c.http.CloseIdleConnections() }

// call sends one request, with a request secret unless it is empty, and decodes the JSON response into
// result. Without a body it is a GET.
func (c *doctorClient) call(ctx context.Context, path, secret string, body, result any) error {
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, socket.HTTPAddress(c.url)+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set(schema.SecretHeader, secret)
	}
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
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		return &statusError{fmt.Sprintf("%s %s: %s", method, path, res.Status), res.StatusCode}
	}
	return json.Unmarshal(text, result)
}

// roundTripEvent sends an event and reads it back.
func (c *doctorClient) roundTripEvent(ctx context.Context) (took time.Duration, err error) {
	start := time.Now()
	o := c.options
	ticket, err := c.ticket(ctx)
	if err != nil {
		return 0, err
	}
	o.SourceApp, o.SessionID = schema.TestApp, newDoctorSession()
	o.Env = func(name string) string {
		if name == control.TicketVariable {
			return ticket
		}
		return c.options.Env(name)
	}
	client := agentclient.New(o)
	defer func() { _ = client.Close() }()
	sent, err := client.Send(ctx, schema.Event{HookEventType: "Notification", Summary: "hookback doctor: test event"})
	if err != nil {
		return 0, err
	}
	var stored schema.Event
	if err := c.call(ctx, schema.At(schema.PathEvent, sent.ID), "", nil, &stored); isRefused(err) {
		return time.Since(start), nil // a locked hub stores it, and shows it to people only
	} else if err != nil {
		return 0, err
	}
	if stored.SessionID != sent.SessionID {
		return 0, fmt.Errorf("event %d is from another session", sent.ID)
	}
	return time.Since(start), nil
}

// deny waits for the question with the ticket and denies it.
func (c *doctorClient) deny(ctx context.Context, ticket, reason string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// The hook can get its answer and exit before this request returns, which cancels ctx.
		err := c.call(context.WithoutCancel(ctx), control.PathTestDenial, ticket, control.TestDenial{Reason: reason}, &schema.Event{})
		if !isStatus(err, http.StatusNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// newDoctorSession returns a unique session ID.
func newDoctorSession() string { return control.TestSession + strings.ToLower(rand.Text()[:12]) }
