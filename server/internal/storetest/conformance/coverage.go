package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestCoverage_KeepsNewestParts(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	now := time.UnixMilli(b.Clock.Now().UnixMilli())
	put := func(rows ...store.CoverageRow) {
		t.Helper()
		require.NoError(t, b.PutCoverage(t.Context(), rows, now))
	}
	row := store.CoverageRow{Host: "laptop", Account: "ada", Agent: "codex"}
	report, proof := row, row
	report.Report, report.ReportedAt = []byte(`{"version":"2"}`), now
	proof.Proof, proof.ProvenAt = []byte(`{"client":"1"}`), now.Add(-time.Minute)
	put(report)
	put(proof)
	older := row
	older.Report, older.ReportedAt, older.Proof, older.ProvenAt = []byte(`old`), now.Add(-time.Hour), []byte(`old`), now.Add(-time.Hour)
	put(older, store.CoverageRow{Host: "laptop", Account: "ada", Agent: "claude-code", Report: []byte(`{}`), ReportedAt: now})
	b.Reopen(t)
	got, err := b.Coverage(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "claude-code", got[0].Agent)
	require.Empty(t, got[0].Proof)
	require.True(t, got[0].ProvenAt.IsZero())
	require.JSONEq(t, `{"version":"2"}`, string(got[1].Report))
	require.JSONEq(t, `{"client":"1"}`, string(got[1].Proof))
	require.True(t, now.Equal(got[1].ReportedAt) && now.Add(-time.Minute).Equal(got[1].ProvenAt))
}

// Machines that are gone leave the list, and a flood of made-up ones only takes the place of its sender's.
func (s suite) TestCoverage_IsLimitedByRequester(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	now := b.Clock.Now()
	rows := []store.CoverageRow{
		{Host: "gone", Agent: "codex", Proof: []byte(`{}`), ProvenAt: now.Add(-store.CoverageAge - time.Second)},
		{Host: "laptop", Agent: "codex", Report: []byte(`{}`), ReportedAt: now.Add(-time.Hour), Requester: "ada"},
	}
	for i := range store.MaxCoverage + 5 {
		rows = append(rows, store.CoverageRow{
			Host: fmt.Sprintf("host%04d", i), Agent: "codex", Report: []byte(`{}`), ReportedAt: now.Add(time.Duration(i) * time.Millisecond), Requester: "agent:build",
		})
	}
	require.NoError(t, b.PutCoverage(t.Context(), rows, now))
	taken := rows[1]
	taken.Requester = "agent:build"
	require.NoError(t, b.PutCoverage(t.Context(), []store.CoverageRow{taken}, now))
	got, err := b.Coverage(t.Context())
	require.NoError(t, err)
	require.Len(t, got, store.MaxCoverage+1)
	require.Equal(t, "host0005", got[0].Host)
	require.Equal(t, "agent:build", got[0].Requester)
	require.Equal(t, "laptop", got[store.MaxCoverage].Host)
	require.Equal(t, "ada", got[store.MaxCoverage].Requester, "the first one's")
}
