package routes_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

func TestAll_IsComplete(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/events/42/respond", schema.At(schema.PathRespond, 42))
	seen := map[string]bool{}
	for _, r := range routes.All {
		name := r.Method + " " + r.Path
		require.False(t, seen[name], "%s is listed twice", name)
		seen[name] = true
		require.Contains(t, schema.Accesses, r.Access, name)
		require.NotEmpty(t, r.Summary, name)
		require.True(t, strings.HasSuffix(r.Description, "."), name)
		require.True(t, r.Returns != "" || len(r.Also) > 0, "%s has no successful status", name)
		for status := range r.Problems() {
			require.Empty(t, r.Also[status], "%s: %d has two meanings", name, status)
		}
	}
}

// TestRoutes_NumbersHaveOneRange: the hub and the OpenAPI document both have the bounds of a number from its Range, so
// its description must not repeat them.
func TestRoutes_NumbersHaveOneRange(t *testing.T) {
	t.Parallel()
	bounds := regexp.MustCompile(`default -?\d|\d to \d|at most \d`)
	for _, r := range routes.All {
		for _, p := range r.Query {
			of, isNumber := r.RangeOf(p.Name)
			if !isNumber {
				continue
			}
			require.NotRegexp(t, bounds, p.Description, "%s %s: %s", r.Method, r.Path, p.Name)
			require.LessOrEqual(t, of.Default, of.Max, "%s %s: %s", r.Method, r.Path, p.Name)
		}
	}
}
