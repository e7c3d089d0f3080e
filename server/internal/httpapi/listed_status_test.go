package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/routes"
)

// routeOf returns the route of a request, or nil if no route matches. A fixed path wins over one
// with a parameter, as in the router.
func routeOf(method, path string) *routes.Route {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range routes.All {
		r := &routes.All[i]
		pattern := strings.Split(r.Path, "/")
		if r.Method == method &&
			slices.EqualFunc(pattern, segments, func(p, s string) bool { return p == s || strings.HasPrefix(p, ":") && s != "" }) {
			return r
		}
	}
	return nil
}

// requireListedStatus fails if the route of a request does not list the status of its response, or
// the code of its problem. Every request of this package's tests is checked.
func (r *harness) requireListedStatus(resp *http.Response, body []byte) {
	r.t.Helper()
	route := routeOf(resp.Request.Method, resp.Request.URL.Path)
	if route == nil || route.Path == schema.PathMCP && r.MCP != nil {
		return
	}
	var p schema.Problem
	if resp.Header.Get("Content-Type") != schema.ProblemMediaType || resp.Request.Method == http.MethodHead {
		require.Contains(r.t, route.Statuses(), resp.StatusCode, "%s %s: %s", route.Method, route.Path, body)
		return
	}
	require.NoError(r.t, json.Unmarshal(body, &p))
	if slices.Contains([]int{http.StatusRequestTimeout, http.StatusRequestHeaderFieldsTooLarge, http.StatusUpgradeRequired}, p.Status) {
		return // from the HTTP server, before the route
	}
	if slices.ContainsFunc(routes.Everywhere, func(err error) bool { return schema.ProblemOf(err).Code == p.Code }) {
		return
	}
	require.Contains(r.t, codesOf(route, p.Status), p.Code, "%s %s does not list %d %s", route.Method, route.Path, p.Status, p.Code)
}

// codesOf returns the codes of the problems that a route lists for a status.
func codesOf(route *routes.Route, status int) (codes []string) {
	for _, p := range route.Problems()[status] {
		codes = append(codes, p.Code)
	}
	return codes
}

// TestStatuses_OfQuestions sends each request about a question while it is in each state. The
// responses are those that the route lists, and every listed refusal that depends on the state
// occurs.
func TestStatuses_OfQuestions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	headers := r.openHubOwner("ada").headers()
	after := func(path, body string) schema.Event {
		e := r.post(event(1, permission))
		r.postJSON(schema.At(path, e.ID), strings.ReplaceAll(body, "SECRET", e.RequestSecret), &schema.Event{})
		return e
	}
	states := map[string]func() schema.Event{
		"unknown":     func() schema.Event { return schema.Event{ID: 4711} },
		"plain":       func() schema.Event { return r.post(event(1)) },
		"pending":     func() schema.Event { return r.post(event(1, permission)) },
		"approved":    func() schema.Event { return after(schema.PathRespond, `{"permission":true}`) },
		"denied":      func() schema.Event { return after(schema.PathRespond, `{"permission":false}`) },
		"held":        func() schema.Event { return after(schema.PathRespond, `{"permission":true,"holdMs":30000}`) },
		"held denial": func() schema.Event { return after(schema.PathRespond, `{"permission":false,"holdMs":30000}`) },
		"cancelled":   func() schema.Event { return after(schema.PathCancel, `{}`) },
		"withdrawn":   func() schema.Event { return after(schema.PathCancel, `{"requestSecret":"SECRET"}`) },
		"version 1": func() schema.Event {
			return r.post(event(1, `"humanInTheLoop":{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:9"}`))
		},
	}
	stateErrors := []error{
		schema.ErrNotFound, schema.ErrNoQuestion, schema.ErrDecided, schema.ErrExpired, schema.ErrHeld,
		schema.ErrNotHeld, schema.ErrUndecided,
	}
	for i := range routes.All {
		route := &routes.All[i]
		body := ""
		if route.Method != http.MethodGet {
			body = matrixBodies[strings.TrimPrefix(route.Path, inbox.PathAuthenticated)]
		}
		isAboutEvent := strings.Contains(route.Path, ":id") && slices.Contains([]string{"events", "hitl", "authenticated", "approvals"}, strings.Split(strings.TrimPrefix(route.Path, "/api"), "/")[1])
		if route.Access == schema.AccessPublic ||
			!isAboutEvent && !slices.Contains([]string{inbox.PathAgentApprove, schema.PathRules, schema.PathRulePreview}, route.Path) ||
			body == "" && route.Path == schema.PathRules {
			continue
		}
		seen := map[string]bool{}
		for state, create := range states {
			e := create()
			path, body := schema.At(route.Path, e.ID), strings.NewReplacer("ID", e.ID.String(), "SECRET", e.RequestSecret).Replace(body)
			resp, b := r.do(route.Method, path, body, headers...)
			if resp.StatusCode >= http.StatusBadRequest {
				seen[r.problem(resp, b).Code] = true
			}
			if state == "unknown" {
				require.Equal(t, http.StatusNotFound, resp.StatusCode, "%s %s: %s", route.Method, path, b)
			}
		}
		for _, err := range stateErrors {
			p := schema.ProblemOf(err)
			require.Equal(t, slices.Contains(codesOf(route, p.Status), p.Code), seen[p.Code], "%s %s: %s", route.Method, route.Path, p.Code)
		}
		require.Equal(t, route.Path == schema.PathExtend, seen["wrong_answer"], route.Path)
	}
}
