package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// A key with the separator names no key of an agent's token.
func TestIdempotencyKey_ScopeCannotBeForged(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	agent := Caller{Identity: auth.Identity{Name: "build", Agent: true, Via: "token"}}
	event := func(key string) []byte {
		return []byte(`{"source_app":"a","session_id":"s","hook_event_type":"Stop","idempotency_key":` + key + `,"payload":{}}`)
	}
	first, err := h.Ingest(t.Context(), event(`"k"`), agent)
	require.NoError(t, err)
	forged, err := h.Ingest(t.Context(), event(`"agent:build\u0000k"`), Caller{})
	require.NoError(t, err)
	require.NotEqual(t, first.ID, forged.ID, "the forged key is another one")
}

// TestReplay_OtherAppIsConflict: a repeat returns no event of an application that the token
// is not valid for, such as one that another token of the same name posted.
func TestReplay_OtherAppIsConflict(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	token := func(app string) Caller {
		return Caller{Identity: auth.Identity{Name: "build", Agent: true, Via: "token", Apps: []string{app}}}
	}
	event := func(app string) []byte {
		return []byte(`{"source_app":"` + app + `","session_id":"s","hook_event_type":"Stop","idempotency_key":"k","payload":{"text":"from ` + app + `"}}`)
	}
	first, err := h.Ingest(t.Context(), event("bank"), token("bank"))
	require.NoError(t, err)
	_, err = h.Ingest(t.Context(), event("shop"), token("shop"))
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	repeat, err := h.Ingest(t.Context(), event("bank"), token("bank"))
	require.NoError(t, err)
	require.Equal(t, first.ID, repeat.ID)
	result, _, err := h.IngestBatch(t.Context(), []byte("["+string(event("shop"))+"]"), token("shop"))
	require.NoError(t, err)
	require.NotContains(t, string(result), "from bank")
}
