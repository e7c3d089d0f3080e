package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// Clients page through all events from after=0.
func TestEventList_AfterReadsOldestFirst(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for n := range 3 {
		r.post(event(n))
	}
	for query, want := range map[string][]schema.EventID{
		"?limit=2":                  {2, 3},
		"?limit=2&after=":           {2, 3},
		"?limit=2&after=0":          {1, 2},
		"?limit=2&after=1":          {2, 3},
		"?limit=1&after=1":          {2},
		"?limit=1&after=0&before=3": {1},
		"?limit=2&after=3":          nil,
	} {
		resp, b := r.do("GET", schema.PathEvents+query, "")
		require.Equal(t, 200, resp.StatusCode, query)
		var list []schema.Event
		require.NoError(t, json.Unmarshal(b, &list), query)
		var ids []schema.EventID
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		require.Equal(t, want, ids, query)
	}
}

// Lists are shared for a second while the log does not grow, which must not delay anything.
func TestEventList_HasEveryChangeImmediately(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ids := func(path string) (ids []schema.EventID) {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, string(b))
		var events []schema.Event
		require.NoError(t, json.Unmarshal(b, &events))
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for n := range 5 {
		id := r.post(event(n, permission)).ID
		require.Contains(t, ids(schema.PathRecent), id)
		require.Equal(t, []schema.EventID{id}, ids(schema.PathEvents+"?status=pending"))
		r.respond(id)
		require.Empty(t, ids(schema.PathEvents+"?status=pending"))
	}
}
