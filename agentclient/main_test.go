package agentclient_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, known...)
}

// bundle is a hub, a client of it, and the time a test may take.
type bundle struct {
	ctx    context.Context
	hub    *fakehub.Hub
	client *agentclient.Client
}

// config is what a test wants otherwise; its zero value is a healthy hub.
type config struct {
	hub  fakehub.Hub
	opts agentclient.Options
	pace agentclient.Pace
}

func setup(t *testing.T, c *config) *bundle {
	t.Helper()
	b := &bundle{ctx: testContext(t), hub: &c.hub}
	require.NoError(t, b.hub.Start())
	t.Cleanup(b.hub.Stop)
	if c.opts.Hubs == nil {
		c.opts.Hubs = []string{b.hub.URL()}
	}
	b.client = newClient(t, c.opts, c.pace)
	return b
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, o agentclient.Options, p agentclient.Pace) *agentclient.Client {
	t.Helper()
	client := agentclient.NewPaced(o, p)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type result struct {
	agentclient.Decision
	err error
}

// ask asks in the background.
func (b *bundle) ask(ctx context.Context, r agentclient.Request) <-chan result {
	got := make(chan result, 1)
	go func() {
		d, err := b.client.Ask(ctx, r)
		got <- result{d, err}
	}()
	return got
}

// question waits for the n-th event of the hub.
func (b *bundle) question(t *testing.T, n int) *fakehub.Question {
	t.Helper()
	q, err := b.hub.Question(b.ctx, n)
	require.NoError(t, err)
	return q
}

// end waits for a result.
func (b *bundle) end(t *testing.T, got <-chan result) result {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-b.ctx.Done():
		require.FailNow(t, "Ask did not return")
		return result{}
	}
}

func yes() schema.Answer { return permission(true) }
func no() schema.Answer  { return permission(false) }

func permission(p bool) schema.Answer {
	outcome := schema.Deny
	if p {
		outcome = schema.Approve
	}
	return schema.Answer{Permission: &p, Outcome: outcome, Source: schema.ByHuman}
}

func ptr[T any](v T) *T { return &v }

func raw(s string) json.RawMessage { return json.RawMessage(s) }
