package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// Every route with a JSON body refuses bodies that cost memory or that other readers read differently.
func TestRoutes_RejectHostileBodies(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	question := r.post(event(1, permission))
	streaming := []string{schema.PathEvents, schema.PathBatch, schema.PathMCP} // their readers have tests of their own
	for _, route := range routes.All {
		if route.Request == nil || slices.Contains(streaming, route.Path) {
			continue
		}
		path := strings.NewReplacer(":id", question.ID.String(), ":name", "ada").Replace(route.Path)
		for name, body := range map[string]string{
			"deep":          `{"x":` + strings.Repeat("[", schema.MaxDepth) + strings.Repeat("]", schema.MaxDepth) + `}`,
			"many members":  `{"x":1` + strings.Repeat(`,"x":1`, maxTopLevelTokens) + `}`,
			"invalid UTF-8": "{\"x\":\"\xff\"}",
			"two values":    `{}{}`,
			"an array":      `[]`,
			"half a value":  `{"x":`,
		} {
			resp, b := r.do(route.Method, path, body, ada.headers()...)
			require.Equal(t, 400, resp.StatusCode, "%s %s, %s: %s", route.Method, path, name, b)
			require.Equal(t, "invalid", r.problem(resp, b).Code, "%s %s, %s", route.Method, path, name)
		}
	}
	require.Equal(t, schema.Pending, r.event(question.ID).HumanInTheLoopStatus.Status)
}
