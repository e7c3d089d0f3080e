package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/storetest"
)

// TestRoutes_MatchContract compares Fiber's routes to routes.All.
func TestRoutes_MatchContract(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var have, want []string
	for _, route := range r.app.GetRoutes(true) {
		if route.Method != "HEAD" {
			have = append(have, route.Method+" "+route.Path)
		}
	}
	for _, route := range routes.All {
		want = append(want, route.Method+" "+route.Path)
	}
	require.ElementsMatch(t, want, have)
	require.Len(t, r.handlers(), len(routes.All))
}

func TestRoutes_UnknownPathsGetProblems(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, c := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/nowhere", 404, "no_route", ""},
		{"POST", "/nowhere", 404, "no_route", ""},
		{"GET", "/events/", 404, "no_route", ""},
		{"GET", "/events/12/nothing", 404, "no_route", ""},
		{"GET", "/assets/missing.js", 404, "no_route", ""},
		{"GET", "/.sources", 404, "no_route", ""},
		{"GET", "/assets/../index.html/..", 404, "no_route", ""},
		{"DELETE", "/events", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"PUT", "/events/12", 405, "method_not_allowed", "GET, HEAD"},
		{"GET", "/events/12/respond", 405, "method_not_allowed", "POST"},
		{"POST", "/stream", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"OPTIONS", "/events", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"GET", "/events/12", 404, "not_found", ""},
		{"GET", "/events/none", 404, "not_found", ""},
		{"GET", "/events/-1", 404, "not_found", ""},
		{"GET", "/events/99999999999999999999", 404, "not_found", ""},
		{"POST", "/events/12/respond", 404, "not_found", ""},
	} {
		body := ""
		if strings.HasSuffix(c.path, "respond") {
			body = `{"permission":true}`
		}
		resp, b := r.do(c.method, c.path, body)
		require.Equal(t, c.status, resp.StatusCode, "%s %s: %s", c.method, c.path, b)
		p := r.problem(resp, b)
		require.Equal(t, c.code, p.Code, "%s %s", c.method, c.path)
		require.Equal(t, c.allow, resp.Header.Get("Allow"), "%s %s", c.method, c.path)
	}
}

func TestRoutes_RejectInvalidQueries(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for query, field := range map[string]string{
		"/events/recent?limit=0": "limit", "/events/recent?limit=1001": "limit", "/events/recent?limit=ten": "limit",
		"/events?status=open": "status", "/events?from=yesterday": "from", "/events?to=-1": "to",
		"/events?before=x": "before", "/events?after=1.5": "after", "/events?limit=0": "limit",
		"/events/1/response?wait=61": "wait",
	} {
		resp, b := r.do("GET", query, "")
		require.Equal(t, 400, resp.StatusCode, query)
		require.Equal(t, field, r.problem(resp, b).Field, query)
	}
}

// TestRoutes_RejectUnknownQueryParameters: a misspelled filter must not select everything.
func TestRoutes_RejectUnknownQueryParameters(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for _, route := range routes.All {
		if route.Path == schema.PathOIDCCallback {
			continue
		}
		path := strings.NewReplacer(":id", "1", ":name", "ada").Replace(route.Path)
		resp, b := r.do(route.Method, path+"?surplus=1", "", ada.headers()...)
		require.Equal(t, 400, resp.StatusCode, "%s %s: %s", route.Method, path, b)
		p := r.problem(resp, b)
		require.Equal(t, "surplus", p.Field, "%s %s", route.Method, path)
		require.Equal(t, "surplus is not a query parameter of this path", p.Detail)
	}
	for query, field := range map[string]string{"/events?sourceapp=demo": "sourceapp", "/events/recent?limit=1&Limit=2": "Limit", "/events?": "", "/events?=": "", "/events/recent?limit=1&": ""} {
		resp, b := r.do("GET", query, "")
		if field == "" && resp.StatusCode == 200 {
			continue
		}
		require.Equal(t, 400, resp.StatusCode, query)
		require.Equal(t, field, r.problem(resp, b).Field, query)
	}
	resp, _ := r.do("GET", "/stream?event=1&q=agent:api", "", "Accept", "text/html")
	require.Equal(t, 200, resp.StatusCode, "a screen of the dashboard has parameters of its own")
	resp, b := r.do("GET", schema.PathOIDCCallback+"?state=x&code=y&iss=https://idp.example&session_state=z", "")
	require.NotEqual(t, 400, resp.StatusCode, "providers add parameters: %s", b)
}

// TestRoutes_QuestionLifecycle takes a question through every route, as a version 1 client
// does.
func TestRoutes_QuestionLifecycle(t *testing.T) {
	t.Parallel()
	r := setup(t)
	plain := r.post(event(1, `"tool_name":"Bash"`))
	question := r.post(event(2, permission))
	require.Equal(t, schema.Pending, question.HumanInTheLoopStatus.Status)
	require.NotEmpty(t, question.RequestSecret)

	get := func(path string, into any) {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, "%s: %s", path, b)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		require.NoError(t, json.Unmarshal(b, into), "%s: %s", path, b)
	}
	var list []schema.Event
	get("/events/recent?limit=1", &list)
	require.Len(t, list, 1)
	require.Equal(t, question.ID, list[0].ID)
	require.Empty(t, list[0].RequestSecret, "only the poster receives the secret")
	get("/events?tool_name=Bash", &list)
	require.Len(t, list, 1)
	require.Equal(t, plain.ID, list[0].ID)
	get("/events?status=pending&limit=10", &list)
	require.Len(t, list, 1)
	var options schema.FilterOptions
	get("/events/filter-options", &options)
	require.Equal(t, []string{"demo"}, options.SourceApps)
	require.Equal(t, []string{"Bash"}, options.ToolNames)
	var e schema.Event
	get(schema.At(schema.PathEvent, plain.ID), &e)
	require.JSONEq(t, `{"n":1}`, string(e.Payload))

	response := schema.At(schema.PathResponse, question.ID)
	resp, _ := r.do("GET", response, "")
	require.Equal(t, 204, resp.StatusCode)
	resp, b := r.do("POST", schema.At(schema.PathRespond, question.ID), `{"choice":"yes"}`)
	require.Equal(t, 422, resp.StatusCode)
	require.Equal(t, "wrong_answer", r.problem(resp, b).Code)
	r.respond(question.ID)
	resp, b = r.do("POST", schema.At(schema.PathRespond, question.ID), `{"permission":false}`)
	require.Equal(t, 409, resp.StatusCode)
	require.Equal(t, schema.Responded, r.problem(resp, b).HumanInTheLoopStatus.Status)
	var answer schema.Answer
	resp, b = r.do("GET", response, "", schema.SecretHeader, question.RequestSecret)
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.NoError(t, json.Unmarshal(b, &answer))
	require.True(t, *answer.Permission)
	resp, b = r.do("GET", response, "", schema.SecretHeader, "wrong")
	require.Equal(t, 403, resp.StatusCode, string(b))

	again := r.post(event(3, permission))
	resp, b = r.do("POST", schema.At(schema.PathCancel, again.ID), `{"reason":"changed my mind"}`)
	require.Equal(t, 200, resp.StatusCode, string(b))
	resp, b = r.do("POST", schema.PathBatch, "["+event(4)+","+event(5, permission)+",{}]", "Content-Type", "application/json")
	require.Equal(t, 200, resp.StatusCode, string(b))
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(b, &results))
	require.Len(t, results, 3)
	require.NotNil(t, results[2].Problem)
}

// While the hub can store nothing, /readyz, the metrics and every refused write say so.
func TestReady_FailsWhileNothingIsStored(t *testing.T) {
	t.Parallel()
	r := setup(t)
	hint, reason, mend := r.refuseWrites()
	var p schema.Problem
	require.Eventually(t, func() bool {
		resp, b := r.do("POST", schema.PathEvents, event(1))
		return resp.StatusCode == http.StatusServiceUnavailable && json.Unmarshal(b, &p) == nil
	}, waitLimit, 10*time.Millisecond)
	require.Equal(t, "storage", p.Code)
	require.Contains(t, p.Hint, hint)
	resp, b := r.do("GET", schema.PathReady, "")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Contains(t, string(b), reason)
	_, b = r.do("GET", schema.PathMetrics, "")
	require.Contains(t, string(b), "hookback_last_commit_failed 1")
	require.Regexp(t, `hookback_writes_refused_total{cause="fault"} [1-9]`, string(b))

	mend()
	require.Eventually(t, func() bool {
		resp, _ := r.do("GET", schema.PathReady, "")
		return resp.StatusCode == http.StatusOK
	}, waitLimit, 10*time.Millisecond)
	resp, b = r.do("POST", schema.PathEvents, event(1))
	require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
	_, b = r.do("GET", schema.PathMetrics, "")
	require.Contains(t, string(b), "hookback_last_commit_failed 0")
	require.NotContains(t, r.log.String(), "request failed", "a fault is not logged for each request")
}

// refuseWrites makes the database refuse writes until mend is called. It returns parts of the
// hub's replies until then: of the hint of a write, and of the reason in /readyz.
func (r *harness) refuseWrites() (hint, reason string, mend func()) {
	if !storetest.IsPostgres() {
		require.NoError(r.t, os.Rename(r.dbFile, r.dbFile+".moved"))
		const moved = "hub.db was removed, moved or replaced"
		return moved, moved, func() { require.NoError(r.t, os.Rename(r.dbFile+".moved", r.dbFile)) }
	}
	exec := func(statement string) {
		_, err := storetest.OpenSQL(r.t, r.dbFile).ExecContext(r.t.Context(), statement)
		require.NoError(r.t, err)
	}
	// A server with read-only transactions returns this error.
	exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'cannot execute UPDATE in a read-only transaction' USING ERRCODE = '25006'; END $$`)
	exec(`CREATE TRIGGER refuse BEFORE UPDATE ON streams EXECUTE FUNCTION refuse()`)
	return "It is not known whether this was stored", "the database does not accept writes", func() { exec(`DROP TRIGGER refuse ON streams`) }
}

func TestRoutes_ServeOperations(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, path := range []string{schema.PathHealth, schema.PathReady} {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode)
		require.JSONEq(t, `{"status":"ok","version":"test"}`, string(b))
	}
	resp, b := r.do("GET", schema.PathOpenAPI, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Contains(t, string(b), "3.1.0")
	resp, b = r.do("GET", schema.PathLicenses, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Contains(t, string(b), "Licensed under the Apache License, Version 2.0")
	require.Contains(t, string(b), "modernc.org/sqlite v")
	resp, b = r.do("HEAD", schema.PathHealth, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, b)
}

func TestMetrics_CountEventsAndOutcomes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Metrics.Run(ctx, r.Query) }()
	require.Eventually(t, func() bool {
		r.post(event(1))
		return !strings.Contains(r.metrics(), "hookback_events_total 0\n")
	}, waitLimit, time.Millisecond)
	question := r.post(event(2, permission))
	r.respond(question.ID)
	r.do("GET", "/events/12345678", "")
	require.Eventually(t, func() bool {
		m := r.metrics()
		for _, want := range []string{
			`hookback_questions_total{outcome="approve"} 1`, `hookback_answer_seconds_count{source="human"} 1`, `hookback_delivery_seconds_count 0`,
			`hookback_http_requests_total{method="POST",route="/events/:id/respond",status="200"} 1`,
			`hookback_http_requests_total{method="GET",route="/events/:id",status="404"} 1`,
			`hookback_questions_pending 0`, `hookback_streams 0`, `go_goroutines`,
		} {
			if !strings.Contains(m, want) {
				return false
			}
		}
		return true
	}, waitLimit, 5*time.Millisecond)
	stop()
	require.NoError(t, <-done)
}

// TestAccessLog_OmitsUserContent checks that the log contains nothing from events, queries
// or paths.
func TestAccessLog_OmitsUserContent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, `"summary":"hush"`, `"humanInTheLoop":{"question":"hush?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:1/hush"}`))
	r.do("GET", "/events?q=hush", "")
	r.do("GET", "/hush", "", "Cookie", "hush")
	r.do("POST", schema.At(schema.PathRespond, question.ID), `{"permission":true,"reason":"hush"}`)
	require.Contains(t, r.log.String(), "route=/events/:id/respond")
	require.NotContains(t, r.log.String(), "hush")
}

func TestAssets_ServeDashboard(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, b := r.do("GET", "/", "", "Accept-Encoding", "identity")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, indexHTML, string(b))
	require.Equal(t, "no-cache", resp.Header.Get("Cache-Control"))
	require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	etag := resp.Header.Get("ETag")
	resp, b = r.do("GET", "/", "", "If-None-Match", etag, "Accept-Encoding", "identity")
	require.Equal(t, 304, resp.StatusCode)
	require.Empty(t, b)

	for _, path := range []string{
		"/inbox/12", "/stream", "/sessions", "/sessions/demo/s1", "/r/7", "/settings", "/team/people", "/overview?days=7",
		"/sessions/a%2Fb/..%2F..%2Fetc%2Fpasswd", "/sessions/www.example.com/main.js", "/sessions/api/%2e%2e%2Fevents", "/sessions/~./~..",
	} {
		resp, b = r.do("GET", path, "", "Accept", "text/html,application/xhtml+xml", "Accept-Encoding", "identity")
		require.Equal(t, 200, resp.StatusCode, path)
		require.Equal(t, indexHTML, string(b), path)
	}
	const js = "/assets/app-1.js"
	_, plain := r.do("GET", js, "", "Accept-Encoding", "identity")
	tags := map[string]bool{}
	for encoding, unpack := range map[string]func(io.Reader) io.Reader{
		"br":   func(rd io.Reader) io.Reader { return brotli.NewReader(rd) },
		"gzip": func(rd io.Reader) io.Reader { z, err := gzip.NewReader(rd); require.NoError(t, err); return z },
	} {
		resp, b = r.do("GET", js, "", "Accept-Encoding", encoding+";q=0.8, identity;q=0.1")
		require.Equal(t, encoding, resp.Header.Get("Content-Encoding"))
		require.Equal(t, "Accept-Encoding", resp.Header.Get("Vary"))
		require.Equal(t, "public, max-age=31536000, immutable", resp.Header.Get("Cache-Control"))
		require.Less(t, len(b), len(plain)/10)
		unpacked, err := io.ReadAll(unpack(bytes.NewReader(b)))
		require.NoError(t, err)
		require.Equal(t, plain, unpacked)
		tags[resp.Header.Get("ETag")] = true
	}
	require.Len(t, tags, 2, "each encoding has its own ETag")
	resp, b = r.do("GET", js+".br", "")
	require.Equal(t, "no_route", r.problem(resp, b).Code, "compressed files have no address")
	resp, _ = r.do("GET", "/assets/dot-2.png", "", "Accept-Encoding", "br")
	require.Empty(t, resp.Header.Get("Content-Encoding"), "incompressible files are sent uncompressed")
	require.Equal(t, "image/png", resp.Header.Get("Content-Type"))
	resp, b = r.do("HEAD", js, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, b)
}

func TestProblems_MapBackToErrors(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	plain := r.post(event(2))
	r.respond(question.ID)
	for _, c := range []struct {
		path, body string
		want       error
	}{
		{"/events", `{"source_app":"a"}`, schema.ErrInvalid},
		{"/events", `nonsense`, schema.ErrInvalid},
		{"/events/99/respond", `{"permission":true}`, schema.ErrNotFound},
		{schema.At(schema.PathRespond, plain.ID), `{"permission":true}`, schema.ErrNoQuestion},
		{schema.At(schema.PathRespond, question.ID), `{"permission":false}`, schema.ErrDecided},
		{schema.At(schema.PathRespond, question.ID), `{"permission":1}`, schema.ErrWrongAnswer},
		{"/nowhere", ``, schema.ErrNoRoute},
	} {
		resp, b := r.do("POST", c.path, c.body)
		require.ErrorIs(t, r.problem(resp, b).Err(), c.want, "%s %s: %s", c.path, c.body, b)
	}
}

// The lags of the projections and of the search index are metrics. A current result has no lag.
func TestRoutes_ServeLags(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, b := r.do("POST", schema.PathEvents, event(1))
	require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
	_, b = r.do("GET", schema.PathMetrics, "")
	for _, name := range []string{"projection_lag_rows", "projection_lag_seconds", "search_index_lag_rows", "search_index_lag_seconds"} {
		require.Regexp(t, `(?m)^hookback_`+name+` [0-9]`, string(b))
	}
}
