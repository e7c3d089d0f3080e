package middleware

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlaces_BoundEachOwner(t *testing.T) {
	t.Parallel()
	limits := PlaceLimits{Ordinary: PlaceLimit{8, 2}, SignedIn: PlaceLimit{4, 3}, SignedInStreams: 2}
	limits.SetDefaults()
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"class"})
	p := NewPlaces(&limits, refusals)
	takes := func(want Place, owner string) bool {
		_, ok := p.take(want, func() string { return owner })
		return ok
	}
	for range 4 {
		require.True(t, takes(Place{Class: OrdinaryPlace}, "crowd"), "owners are not looked at before the class is half full")
	}
	for i := range 4 {
		require.Equal(t, i < 2, takes(Place{Class: OrdinaryPlace}, "crowd"))
	}
	require.True(t, takes(Place{Class: OrdinaryPlace}, "hook"), "the others have room")
	require.True(t, takes(Place{Class: OrdinaryPlace}, "page"))
	require.False(t, takes(Place{Class: OrdinaryPlace}, "late"), "the class is full")
	registry := prometheus.NewRegistry()
	registry.MustRegister(refusals)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.EqualValues(t, 3, families[0].GetMetric()[0].GetCounter().GetValue())

	for i := range 3 {
		require.Equal(t, i < 2, takes(Place{Class: SignedInPlace, Owner: "ada", IsStream: true}, ""))
	}
	ada, ok := p.take(Place{Class: SignedInPlace, Owner: "ada"}, nil)
	require.True(t, ok, "places are kept free of streams")
	require.False(t, takes(Place{Class: SignedInPlace, Owner: "ada"}, ""))
	require.True(t, takes(Place{Class: SignedInPlace, Owner: "grace"}, ""))
	p.release(ada)
	require.False(t, takes(Place{Class: SignedInPlace, Owner: "grace", IsStream: true}, ""))
	require.True(t, takes(Place{Class: SignedInPlace, Owner: "ada"}, ""))
}
