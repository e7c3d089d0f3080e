package coverage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// machine is the hub's own.
type machine struct {
	mu     sync.Mutex
	report control.MachineReport
	err    error
}

func (m *machine) Report() (control.MachineReport, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report, m.err
}

func (m *machine) set(err error, agents ...control.Installation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report, m.err = control.MachineReport{Host: "laptop", Account: "ada", Agents: agents}, err
}

// A hook that a person deletes is seen without any event of an agent.
func TestService_ChecksOwnMachine(t *testing.T) {
	t.Parallel()
	m := &machine{}
	m.set(nil, control.Installation{Agent: "codex", Settings: "e1"})
	s := coverage.New(coverage.Config{Store: storetest.Open(t, storetest.Options{Fast: true}), Machine: m, Interval: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	becomes := func(want control.CoverageState) {
		t.Helper()
		require.Eventually(t, func() bool {
			list, err := s.List(t.Context())
			return err == nil && len(list.Agents) == 1 && list.Agents[0].State == want
		}, time.Minute, time.Millisecond)
	}
	becomes(control.CoverageNotProven)
	s.Observe("", &store.Event{
		App: "shop", ReceivedAt: time.Now(), Envelope: []byte(`"agent":"codex","os_user":"ada","gate":{"client":"1","host":"laptop","settings":"e1"}`),
	})
	becomes(control.CoverageProven)
	m.set(nil, control.Installation{Agent: "codex", State: control.CoverageOff})
	becomes(control.CoverageOff)
	m.set(errors.New("no home directory"))
	m.set(nil, control.Installation{Agent: "codex", Settings: "e1"})
	becomes(control.CoverageProven)
	m.set(nil)
	becomes(control.CoverageOff)
	stop()
	require.NoError(t, <-done)
}

// A token reports made-up machines: those of others stay, and an error says what became of its own.
func TestService_LimitsEachRequester(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := coverage.New(coverage.Config{
		Store: storetest.Open(t, storetest.Options{Fast: true}), Clock: func() time.Time { return now },
	})
	report := func(requester, host string) error {
		_, err := s.Report(t.Context(), requester, control.MachineReport{Host: host, Account: "ada", Agents: []control.Installation{{Agent: "codex"}}})
		return err
	}
	hosts := func(prefix string) (n int) {
		t.Helper()
		list, err := s.List(t.Context())
		require.NoError(t, err)
		for _, a := range list.Agents {
			if strings.HasPrefix(a.Host, prefix) {
				n++
			}
		}
		return n
	}
	require.NoError(t, report("ada", "laptop"))
	flood := func(host string) {
		for i := range store.MaxCoverage + 10 {
			s.Observe("agent:build", &store.Event{App: "shop", ReceivedAt: now, Envelope: fmt.Appendf(nil,
				`"agent":"codex","os_user":"ada","gate":{"client":"1","host":"%s-%d"}`, host, i)})
		}
	}
	flood("fake")
	s.Observe("ada", &store.Event{App: "shop", ReceivedAt: now, Envelope: []byte(`"agent":"gemini","gate":{"client":"1","host":"laptop"}`)})
	require.Equal(t, 2, hosts("laptop"), "facts of one requester don't crowd out another's")
	require.Equal(t, store.MaxCoverage, hosts("fake"))

	err := report("agent:build", "real")
	require.ErrorIs(t, err, schema.ErrTooMany)
	require.ErrorContains(t, err, "this sender has 500 agents in the list")
	require.NoError(t, report("agent:build", "fake-1"), "known machines are still reported")
	require.NoError(t, report("ada", "phone"))

	now = now.Add(store.CoverageStale + time.Second) // those without news for a day make room
	require.NoError(t, report("agent:build", "real"))
	require.Equal(t, 1, hosts("real"))
	require.Equal(t, store.MaxCoverage-1, hosts("fake"))
	flood("new")
	require.Equal(t, store.MaxCoverage-1, hosts("new"))
	require.Equal(t, 2, hosts("laptop"))
	require.Equal(t, 1, hosts("phone"))
}
