package httpapi

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// The ledger records every resolution in one hash chain, and the export contains exactly
// the hashed bytes.
func TestLedger_RecordsEveryResolution(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for n := range 3 {
		r.respond(r.post(event(n, permission)).ID)
	}
	resp, _ := r.do("POST", schema.At(schema.PathCancel, r.post(event(3, permission)).ID), `{"reason":"not now <b>"}`)
	require.Equal(t, 200, resp.StatusCode)

	var entries []sign.LedgerEntry
	r.getJSON(schema.PathLedger, &entries)
	require.Len(t, entries, 4)
	require.Equal(t, "question.ended", entries[3].Action)
	require.Equal(t, "local user", entries[3].Actor)
	require.Contains(t, string(entries[3].Data), `"outcome":"__cancelled__"`)

	r.getJSON(schema.PathLedger+"?after=1&limit=2", &entries)
	require.EqualValues(t, 2, entries[0].N)
	r.getJSON(schema.PathLedger+"?of=1", &entries)
	require.Len(t, entries, 1)

	resp, b := r.do("GET", schema.PathLedger+"?format=ndjson", "")
	require.Equal(t, "application/x-ndjson", resp.Header.Get("Content-Type"))
	var check sign.LedgerCheck
	for line := range bytes.Lines(b) {
		require.NoError(t, check.Next(line))
	}
	require.EqualValues(t, 4, check.N)

	for query, field := range map[string]string{"?format=csv": "format", "?limit=0": "limit", "?after=-1": "after", "?of=x": "of"} {
		resp, b := r.do("GET", schema.PathLedger+query, "")
		require.Equal(t, field, r.problem(resp, b).Field)
	}
}
