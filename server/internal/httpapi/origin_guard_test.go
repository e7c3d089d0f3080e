package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// attacker describes a hostile page and its requests, as captured from Chromium.
type attacker struct {
	name, host, origin, site string
	cookie                   bool
	preflights               bool // the browser sends a CORS preflight before JSON
}

func attackers(port string) []attacker {
	return []attacker{
		{"another site", "localhost:" + port, "http://evil.example:3000", "cross-site", false, true},
		{"another site by 0.0.0.0", "0.0.0.0:" + port, "http://evil.example:3000", "", false, true},
		{"a rebound name", "evil.example:" + port, "http://evil.example:" + port, "", false, false},
		{"another port of this machine", "localhost:" + port, "http://localhost:3000", "same-site", true, true},
		{"a sandboxed frame", "localhost:" + port, "null", "cross-site", false, true},
	}
}

func (a attacker) request(kind, line, media string, more ...string) string {
	b := fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n", line, a.host)
	if kind != "image" { // a plain GET sends no Origin
		b += "Origin: " + a.origin + "\r\n"
	}
	if a.site != "" && kind != "websocket" {
		b += "Sec-Fetch-Site: " + a.site + "\r\nSec-Fetch-Mode: no-cors\r\n"
	}
	if a.cookie {
		b += "Cookie: session=stolen\r\n"
	}
	if media != "" {
		b += "Content-Type: " + media + "\r\n"
	}
	body := ""
	if strings.HasPrefix(line, "POST") {
		body = event(1)
		b += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	for _, h := range more {
		b += h + "\r\n"
	}
	return b + "\r\n" + body
}

var upgradeHeaders = []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}

// TestOriginGuard_RejectsAttacks covers CSRF and DNS rebinding: 7 kinds of requests that a
// page can make a browser send, from 5 origins, and one more.
func TestOriginGuard_RejectsAttacks(t *testing.T) {
	t.Parallel()
	r := setup(t)
	attacks := map[string]string{}
	for _, a := range attackers(r.port) {
		attacks[a.name+": text/plain"] = a.request("", "POST /events", "text/plain;charset=UTF-8")
		attacks[a.name+": form"] = a.request("", "POST /events", "application/x-www-form-urlencoded")
		attacks[a.name+": blob without a type"] = a.request("", "POST /events", "")
		attacks[a.name+": answer by beacon"] = a.request("", "POST /events/1/respond", "text/plain;charset=UTF-8")
		attacks[a.name+": image"] = a.request("image", "GET /events/recent", "")
		attacks[a.name+": websocket"] = a.request("websocket", "GET /stream", "", upgradeHeaders...)
		if a.preflights {
			attacks[a.name+": preflight"] = a.request("", "OPTIONS /events", "",
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
		} else {
			attacks[a.name+": json"] = a.request("", "POST /events", "application/json")
		}
	}
	attacks["another port: json, as if the preflight had passed"] = attackers(r.port)[3].request("", "POST /events", "application/json")
	require.Len(t, attacks, 36)
	for name, request := range attacks {
		if strings.HasPrefix(name, "a rebound name: image") || strings.HasPrefix(name, "another site by 0.0.0.0: image") {
			require.NotContains(t, request, "Sec-Fetch-Site", "only the Host header identifies these")
		}
		resp, body := r.raw(request)
		require.Contains(t, []int{403, 405, 415, 421}, resp.StatusCode, "%s: %s", name, body)
		r.problem(resp, body)
		for header := range resp.Header {
			require.False(t, strings.HasPrefix(header, "Access-Control-"), "%s: unexpected header %s", name, header)
		}
	}
	require.Zero(t, r.store.Head(), "nothing was stored")
}

// TestOriginGuard_AcceptsRealClients sends the requests of real clients.
func TestOriginGuard_AcceptsRealClients(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.AllowHosts = []string{"host.docker.internal"} })
	post := func(host string, headers ...string) string {
		body := event(1)
		return fmt.Sprintf("POST /events HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
			host, len(body), strings.Join(headers, "\r\n"), body)
	}
	get := func(path, host string, headers ...string) string {
		return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", path, host, strings.Join(headers, "\r\n"))
	}
	local, name := "127.0.0.1:"+r.port, "localhost:"+r.port
	for client, c := range map[string]struct {
		request string
		status  int
	}{
		"curl -d without a type":  {post(name, "User-Agent: curl/8.5.0", "Accept: */*", "Content-Type: application/x-www-form-urlencoded"), 200},
		"python requests":         {post(name, "User-Agent: python-requests/2.32", "Accept: */*", "Content-Type: application/json"), 200},
		"python urllib":           {post(local, "User-Agent: Python-urllib/3.12", "Content-Type: application/json", "Connection: close"), 200},
		"node fetch":              {post(local, "Sec-Fetch-Mode: cors", "Content-Type: application/json", "User-Agent: node"), 200},
		"a client in a container": {post("host.docker.internal:"+r.port, "Content-Type: application/json"), 200},
		"the dashboard's fetch":   {post(name, "Origin: http://"+name, "Sec-Fetch-Site: same-origin", "Content-Type: application/json; charset=utf-8"), 200},
		"the dashboard's read":    {get("/events/recent", "[::1]:"+r.port, "Sec-Fetch-Site: same-origin"), 200},
		"the dashboard's socket":  {get("/stream?v=2", name, append([]string{"Origin: http://" + name}, upgradeHeaders...)...), 101},
		"python websockets":       {get("/stream", local, upgradeHeaders...), 101},
		"a typed address":         {get("/", name, "Accept: text/html", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 200},
		"a link in a chat":        {get("/inbox/12", name, "Accept: text/html", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 200},
	} {
		resp, body := r.raw(c.request)
		require.Equal(t, c.status, resp.StatusCode, "%s: %s", client, body)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "trusted-types svelte-trusted-html")
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Opener-Policy"))
		require.Empty(t, resp.Header.Get("Server"))
	}
}

func TestOriginGuard_CrossSiteLinksOpenPagesOnly(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for path, want := range map[string]int{"/": 200, "/stream": 200, "/events/recent": 403, "/metrics": 403} {
		resp, body := r.do("GET", path, "", "Accept", "text/html", "Sec-Fetch-Site", "cross-site",
			"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		require.Equal(t, want, resp.StatusCode, "%s: %s", path, body)
	}
	resp, _ := r.do("GET", "/", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
	require.Equal(t, 403, resp.StatusCode)
}

func TestOriginGuard_AllowsConfiguredOrigin(t *testing.T) {
	t.Parallel()
	const vue = "http://localhost:5173"
	r := setup(t, func(c *Config) { c.AllowOrigins = []string{vue} })
	resp, _ := r.do("OPTIONS", "/events/1/respond", "", "Origin", vue, "Sec-Fetch-Site", "same-site",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
	require.Equal(t, 204, resp.StatusCode)
	require.Equal(t, vue, resp.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "Content-Type")
	require.Contains(t, resp.Header.Get("Access-Control-Allow-Methods"), "POST")

	resp, body := r.do("GET", "/events/recent", "", "Origin", vue, "Sec-Fetch-Site", "same-site")
	require.Equal(t, 200, resp.StatusCode, string(body))
	require.Equal(t, vue, resp.Header.Get("Access-Control-Allow-Origin"))
	resp, _ = r.do("GET", "/nowhere", "", "Origin", vue, "Sec-Fetch-Site", "same-site")
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, vue, resp.Header.Get("Access-Control-Allow-Origin"), "the page must be able to read the problem")

	resp, _ = r.raw("GET /stream HTTP/1.1\r\nHost: localhost:" + r.port + "\r\nOrigin: " + vue + "\r\n" + strings.Join(upgradeHeaders, "\r\n") + "\r\n\r\n")
	require.Equal(t, 101, resp.StatusCode)
	for _, other := range []string{"http://localhost:5174", "https://localhost:5173", "http://localhost:5173.evil.example", "null"} {
		resp, body := r.do("POST", "/events", event(1), "Origin", other, "Content-Type", "application/json")
		require.Equal(t, 403, resp.StatusCode, other)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "forbidden", r.problem(resp, body).Code)
	}
}

func TestOriginGuard_ChecksHostName(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.AllowHosts = []string{"hub.example.com", "proxy.example.com:443", "me.localhost"}
	})
	for host, ok := range map[string]bool{
		"127.0.0.1:" + r.port:              true,
		"LOCALHOST:" + r.port:              true,
		"me.localhost:" + r.port:           true,
		"other.localhost:" + r.port:        false, // only some resolvers keep such names on this machine
		"host.docker.internal:" + r.port:   false,
		"hub.example.com":                  true,
		"hub.example.com:" + r.port:        true,
		"proxy.example.com:443":            true,
		"hub.example.com:81":               false,
		"proxy.example.com":                false,
		"localhost":                        false,
		"localhost:1":                      false,
		"127.0.0.2:" + r.port:              false,
		"0.0.0.0:" + r.port:                false,
		"localhost.evil.example:" + r.port: false,
		"evil-localhost:" + r.port:         false,
		"[::]:" + r.port:                   false,
	} {
		resp, body := r.do("GET", "/events/recent", "", "Host", host)
		if ok {
			require.Equal(t, 200, resp.StatusCode, "%s: %s", host, body)
			continue
		}
		require.Equal(t, 421, resp.StatusCode, host)
		require.Equal(t, "misdirected", r.problem(resp, body).Code)
	}
	resp, _ := r.raw("GET http://evil.example/events/recent HTTP/1.1\r\nHost: 127.0.0.1:" + r.port + "\r\n\r\n")
	require.Contains(t, []int{400, 421}, resp.StatusCode, "a target that names another host")
}

// Load balancers and monitors do not know the hub's name. A page that a name was rebound for
// learns the status and nothing else.
func TestOriginGuard_AnswersHealthChecksUnderAnyName(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		for name, request := range map[string]string{
			"HAProxy":         "GET " + path + " HTTP/1.0\r\n\r\n",
			"no port":         "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			"cloud balancer":  "GET " + path + " HTTP/1.1\r\nHost: 10.0.0.7:8080\r\nUser-Agent: GoogleHC/1.0\r\n\r\n",
			"nagios, by name": "GET " + path + " HTTP/1.1\r\nHost: backend-1.example\r\n\r\n",
		} {
			resp, body := r.raw(request)
			require.Equal(t, 200, resp.StatusCode, "%s %s: %s", path, name, body)
			require.JSONEq(t, `{"status":"ok","version":""}`, string(body), name)
		}
		resp, body := r.do("HEAD", path, "", "Host", "backend-1.example")
		require.Equal(t, 200, resp.StatusCode, body)
		resp, body = r.do("POST", path, "{}", "Host", "backend-1.example")
		require.Equal(t, 421, resp.StatusCode, body)
		resp, body = r.do("GET", path, "", "Host", "evil.example", "Origin", "http://page.example")
		require.Equal(t, 403, resp.StatusCode, body)
		resp, body = r.do("GET", path, "")
		require.Contains(t, string(body), `"version":"`, "%s: %d", path, resp.StatusCode)
		require.NotContains(t, string(body), `"version":""`)
	}
}

func TestOriginGuard_RejectsDuplicateHeaders(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ownHost := "127.0.0.1:" + r.port
	for _, headers := range []string{
		"Host: " + ownHost + "\r\nHost: evil.example",
		"Host: " + ownHost + "\r\nOrigin: http://" + ownHost + "\r\nOrigin: http://evil.example",
		"Host: " + ownHost + "\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
	} {
		resp, body := r.raw("GET /events/recent HTTP/1.1\r\n" + headers + "\r\n\r\n")
		require.Contains(t, []int{400, 403, 421}, resp.StatusCode, headers)
		r.problem(resp, body)
	}
}

func TestOriginGuard_RequiresPlainJSON(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, body := r.do("POST", "/events", "x", "Content-Encoding", "gzip", "Content-Type", "application/json")
	require.Equal(t, 415, resp.StatusCode)
	require.Contains(t, r.problem(resp, body).Hint, "curl -H 'Content-Type: application/json'")
	resp, _ = r.do("POST", "/events", event(1), "Content-Encoding", "identity")
	require.Equal(t, 200, resp.StatusCode)
	resp, body = r.do("POST", "/events", event(1), "Origin", "http://"+r.addr, "Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain")
	require.Equal(t, 415, resp.StatusCode)
	require.Equal(t, "unsupported_type", r.problem(resp, body).Code)
	require.Contains(t, schema.ProblemMediaType, "problem")
}
