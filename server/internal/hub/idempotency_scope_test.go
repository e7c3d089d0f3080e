package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/auth"
)

// A key with the separator names no key of an agent's token.
func TestIdempotencyKey_ScopeCannotBeForged(t *testing.T) {
	t.Parallel()
	agent := Caller{Identity: auth.Identity{Name: "build", Agent: true, Via: "token"}}
	require.NotEqual(t, scopedKey("k", agent), scopedKey("agent:build\x00k", Caller{}))
}
