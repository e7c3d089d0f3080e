package people_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/people"
)

func TestARoleMayWhatTheLesserOnesMay(t *testing.T) {
	t.Parallel()
	admin, viewer := people.Who{Role: schema.Admin, Via: "session"}, people.Who{Role: schema.Viewer, Via: "session"}
	require.True(t, admin.Is(schema.Viewer) && admin.Is(schema.Operator) && admin.Is(schema.Admin))
	require.True(t, viewer.Is(schema.Viewer))
	require.False(t, viewer.Is(schema.Operator))
	require.False(t, people.Who{}.Is(schema.Viewer), "who has shown nothing has no role")
	require.False(t, people.Who{Role: "king", Via: "token"}.Is(schema.Viewer), "a role that nobody knows")
	require.False(t, people.Who{Role: schema.Admin, Agent: true, Via: "token"}.Is(schema.Operator), "an agent never answers")
}

func TestAnAgentsTokenIsBoundToItsApplications(t *testing.T) {
	t.Parallel()
	bound := people.Who{Agent: true, Apps: []string{"shop-*", "api"}, Via: "token"}
	require.True(t, bound.MayPost("shop-web"))
	require.True(t, bound.MayPost("api"))
	require.False(t, bound.MayPost("api-2"))
	require.False(t, bound.MayPost("bank"))
	require.True(t, people.Who{Agent: true, Via: "token"}.MayPost("bank"), "without a list, every name")
	require.True(t, people.Who{}.MayPost("bank"))
}
