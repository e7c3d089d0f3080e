package agentclient_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	clitest.IsolateProcess()
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, known...)
}

// fixture is a hub, its client and the context of a test.
type fixture struct {
	ctx    context.Context
	hub    *fakehub.Hub
	client *agentclient.Client
}

// fixtureConfig changes the fixture. Its zero value is a healthy hub.
type fixtureConfig struct {
	hub     fakehub.Hub
	opts    agentclient.Options
	timings agentclient.Timings
}

func setup(t *testing.T, c *fixtureConfig) *fixture {
	t.Helper()
	b := &fixture{ctx: testContext(t), hub: &c.hub}
	require.NoError(t, b.hub.Start())
	t.Cleanup(b.hub.Stop)
	if c.opts.Hubs == nil {
		c.opts.Hubs = []string{b.hub.URL()}
	}
	b.client = newClient(t, c.opts, c.timings)
	return b
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, o agentclient.Options, p agentclient.Timings) *agentclient.Client {
	t.Helper()
	client := agentclient.NewWithTimings(o, p)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type askResult struct {
	agentclient.Decision
	err error
}

// ask starts Ask in the background.
func (b *fixture) ask(ctx context.Context, r agentclient.Request) <-chan askResult {
	got := make(chan askResult, 1)
	go func() {
		d, err := b.client.Ask(ctx, r)
		got <- askResult{d, err}
	}()
	return got
}

// waitForQuestion waits for the hub's n-th event.
func (b *fixture) waitForQuestion(t *testing.T, n int) *fakehub.Question {
	t.Helper()
	q, err := b.hub.Question(b.ctx, n)
	require.NoError(t, err)
	return q
}

// waitForResult waits until Ask returns.
func (b *fixture) waitForResult(t *testing.T, got <-chan askResult) askResult {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-b.ctx.Done():
		require.FailNow(t, "Ask did not return")
		return askResult{}
	}
}

func approval() schema.Answer { return permissionAnswer(true) }
func denial() schema.Answer   { return permissionAnswer(false) }

func permissionAnswer(p bool) schema.Answer {
	outcome := schema.Deny
	if p {
		outcome = schema.Approve
	}
	return schema.Answer{Permission: &p, Outcome: outcome, Source: schema.ByHuman}
}

func ptr[T any](v T) *T { return &v }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// httpServer starts a server on a loopback port and returns its address.
func httpServer(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}
