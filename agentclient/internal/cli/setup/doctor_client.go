package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// doctorClient talks to a hub as an agent, and denies its own probes.
type doctorClient struct {
	flags *cli.Flags
	url   string
	way   string // how the hub was reached: over TCP or through a socket
}

// errOldHub is returned by a hub without tickets.
var errOldHub = errors.New("the hub is too old to be checked")

// ticket returns a new ticket, which marks one event as a test: the hub lists no agent for it.
func (c *doctorClient) ticket(ctx context.Context) (string, error) {
	var created control.TestTicket
	err := c.call(ctx, control.PathTestTickets, "", struct{}{}, &created)
	if errors.Is(err, schema.ErrNoRoute) || errors.Is(err, schema.ErrMethod) || errors.Is(err, schema.ErrNotFound) {
		err = errOldHub
	}
	return created.Ticket, err
}

// probeTimeout limits one run of a hook with a made-up call.
const probeTimeout = 20 * time.Second

// newDoctorClient reads the hub's health.
func newDoctorClient(ctx context.Context, f *cli.Flags, address string) (c *doctorClient, health schema.Health, err error) {
	c = &doctorClient{flags: f, url: address}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		c.way = "TCP"
		if path, ok := info.Conn.RemoteAddr().(*net.UnixAddr); ok {
			c.way = "the socket " + path.Name
		}
	}})
	err = c.call(traced, schema.PathHealth, "", nil, &health)
	return c, health, err
}

// call makes one request, with a request secret unless it is empty; see Flags.Call.
func (c *doctorClient) call(ctx context.Context, path, secret string, body, result any) error {
	return c.flags.Call(ctx, transport.Request{Hub: c.url, Path: path, Secret: secret}, body, result)
}

// roundTripEvent sends an event and reads it back.
func (c *doctorClient) roundTripEvent(ctx context.Context) (took time.Duration, err error) {
	start := time.Now()
	o := c.flags.Options()
	ticket, err := c.ticket(ctx)
	if err != nil {
		return 0, err
	}
	o.SourceApp, o.SessionID = schema.TestApp, newDoctorSession()
	o.Env = func(name string) string {
		if name == control.TicketVariable {
			return ticket
		}
		return c.flags.Env(name)
	}
	client := agentclient.New(o)
	defer func() { _ = client.Close() }()
	sent, err := client.Send(ctx, schema.Event{HookEventType: "Notification", Summary: "hookback doctor: test event"})
	if err != nil {
		return 0, err
	}
	var stored schema.Event
	err = c.call(ctx, schema.At(schema.PathEvent, sent.ID), "", nil, &stored)
	switch {
	case errors.Is(err, schema.ErrSignIn), errors.Is(err, schema.ErrNotAllowed):
		return time.Since(start), nil // a locked hub stores it, and shows it to people only
	case err != nil:
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
		if !errors.Is(err, schema.ErrNotFound) {
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
