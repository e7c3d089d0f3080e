package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

func TestIdentity_RoleIncludesLowerRoles(t *testing.T) {
	t.Parallel()
	admin, viewer := auth.Identity{Role: schema.Admin, Via: "session"}, auth.Identity{Role: schema.Viewer, Via: "session"}
	require.True(t, admin.HasRole(schema.Viewer) && admin.HasRole(schema.Operator) && admin.HasRole(schema.Admin))
	require.True(t, viewer.HasRole(schema.Viewer))
	require.False(t, viewer.HasRole(schema.Operator))
	require.False(t, auth.Identity{}.HasRole(schema.Viewer), "an unauthenticated caller has no role")
	require.False(t, auth.Identity{Role: "king", Via: "token"}.HasRole(schema.Viewer), "an unknown role")
	require.False(t, auth.Identity{Role: schema.Admin, Agent: true, Via: "token"}.HasRole(schema.Operator), "an agent cannot answer")
}

func TestIdentity_AgentTokenIsLimitedToApps(t *testing.T) {
	t.Parallel()
	bound := auth.Identity{Agent: true, Apps: []string{"shop-*", "api"}, Via: "token"}
	require.True(t, bound.CanPost("shop-web"))
	require.True(t, bound.CanPost("api"))
	require.False(t, bound.CanPost("api-2"))
	require.False(t, bound.CanPost("bank"))
	require.True(t, auth.Identity{Agent: true, Via: "token"}.CanPost("bank"), "without a list, every application")
	require.True(t, auth.Identity{}.CanPost("bank"))
}

// Only the token of a person names its owner: an agent's token has its own name.
func TestIdentity_TokenOwner(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ada", auth.Identity{Name: "ada", Role: schema.Operator, Via: "token"}.TokenOwner())
	require.Empty(t, auth.Identity{Name: "ada", Agent: true, Via: "token"}.TokenOwner())
	require.Empty(t, auth.Identity{Name: "ada", Role: schema.Operator, Via: "session"}.TokenOwner())
	require.Empty(t, auth.Identity{}.TokenOwner())
}
