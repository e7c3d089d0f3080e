package httpapi

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/store"
)

// fakeHistory has only the statistics of a hub on a bus.
type fakeHistory struct {
	store.History
	hubs *store.HubStats
}

func (h fakeHistory) Stats(context.Context) (store.Stats, error) {
	return store.Stats{Hubs: h.hubs}, nil
}

func TestBus_CountsRings(t *testing.T) {
	t.Parallel()
	hubs := &store.HubStats{IsBusUp: true, Bus: bus.Stats{Sent: 3, Received: 2}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&storeMetrics{fakeHistory{hubs: hubs}})
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
	require.Equal(t, map[string]float64{"hookback_bus_up": 1, "hookback_bus_rings_total sent": 3, "hookback_bus_rings_total received": 2, "hookback_bus_dropped_total": 0}, metrics())
	hubs.IsBusUp, hubs.Bus.Dropped = false, 1
	require.Zero(t, metrics()["hookback_bus_up"])
	require.EqualValues(t, 1, metrics()["hookback_bus_dropped_total"])
}
