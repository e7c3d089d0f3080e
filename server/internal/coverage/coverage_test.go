package coverage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	s.Observe(&store.Event{
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
