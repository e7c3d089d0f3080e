package logmetrics

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/store"
)

// fakeHistory has only the statistics of a hub on a bus.
type fakeHistory struct {
	store.History
	bus bus.Bus
}

func (h fakeHistory) Stats(context.Context) (store.Stats, error) {
	return store.Stats{Hubs: &store.HubStats{IsBusUp: h.bus.Up(), Bus: h.bus.Stats()}}, nil
}

func TestBus_CountsRings(t *testing.T) {
	t.Parallel()
	local := new(bus.Local)
	a, b := local.Join(), local.Join()
	registry := prometheus.NewRegistry()
	registry.MustRegister(&Store{History: fakeHistory{bus: a}})
	metrics := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		values := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				name := family.GetName()
				for _, label := range m.GetLabel() {
					name += " " + label.GetValue()
				}
				if !strings.HasPrefix(name, "hookback_bus_") {
					continue
				}
				values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		return values
	}
	a.Ring(1)
	require.EqualValues(t, 1, <-b.Rings())
	b.Ring(2)
	require.EqualValues(t, 2, <-a.Rings())
	require.Eventually(t, func() bool { return a.Stats().Sent == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, map[string]float64{"hookback_bus_up": 1, "hookback_bus_rings_total sent": 1, "hookback_bus_rings_total received": 1, "hookback_bus_dropped_total": 0}, metrics())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	a.Ring(3)
	require.Zero(t, metrics()["hookback_bus_up"])
	require.EqualValues(t, 1, metrics()["hookback_bus_dropped_total"])
}
