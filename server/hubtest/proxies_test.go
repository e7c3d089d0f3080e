package hubtest_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
	"github.com/hookback/hookback/server/internal/app"
)

// proxyName is the name of the hub in server/docs/guide/proxy.md.
const proxyName = "hub.example.com"

// proxies run the recipes of the guide. The test replaces the port and the hub, and leaves out TLS.
var proxies = map[string]struct {
	program, variable string
	config            func(recipe, address string) string
	arguments         func(file, folder string) []string
}{
	"nginx": {"nginx", "NGINX", func(recipe, address string) string {
		recipe = regexp.MustCompile(`(?m)^\s*ssl_.*\n`).ReplaceAllString(recipe, "")
		recipe = strings.Replace(recipe, "listen 443 ssl;", "listen "+address+";", 1)
		return "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path body;\n" +
			"proxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n" + recipe + "}\n"
	}, func(file, folder string) []string { return []string{"-p", folder, "-c", file} }},
	"caddyfile": {"caddy", "CADDY", func(recipe, address string) string {
		return "{\nadmin off\nauto_https off\n}\n" + strings.Replace(recipe, proxyName, "http://"+proxyName+address[strings.Index(address, ":"):], 1)
	}, func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} }},
}

// TestProxies runs the recipes of the guide with the real programs, of the PATH or of NGINX and CADDY.
func TestProxies(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKBACK_RECIPES") == "" {
		t.Skip("run with make recipes")
	}
	guide, err := os.ReadFile("../docs/guide/proxy.md")
	require.NoError(t, err)
	for language, proxy := range proxies {
		t.Run(proxy.program, func(t *testing.T) {
			t.Parallel()
			program := os.Getenv(proxy.variable)
			if program == "" {
				program = proxy.program
			}
			if program, err = exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			recipe := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(guide)
			require.NotNil(t, recipe)
			hub := hubtest.Start(t, func(c *app.Config) { c.PublicURL = "https://" + proxyName })
			free, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			address := free.Addr().String()
			require.NoError(t, free.Close())
			folder := t.TempDir()
			file := filepath.Join(folder, "config")
			config := proxy.config(strings.Replace(string(recipe[1]), "http://127.0.0.1:4000", hub.URL(), 1), address)
			config = strings.Replace(config, "127.0.0.1:4000", strings.TrimPrefix(hub.URL(), "http://"), 1)
			require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
			startProxy(t, program, folder, proxy.arguments(file, folder))
			checkProxy(t, hub, address)
		})
	}
}

func startProxy(t *testing.T, program, folder string, arguments []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "XDG_CONFIG_HOME=" + folder, "XDG_DATA_HOME=" + folder}
	var output hubtest.Output
	command.Stdout, command.Stderr = &output, &output
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // ends the workers of nginx, too
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
}

// checkProxy expects that a browser gets the page and its files, that programs need credentials, and that an event
// arrives by the stream, with and without a WebSocket.
func checkProxy(t *testing.T, hub *hubtest.Hub, address string) {
	t.Helper()
	get := func(path string, headers ...string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		require.NoError(t, err)
		req.Host = proxyName
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		body := new(strings.Builder)
		_, err = io.Copy(body, resp.Body)
		_ = resp.Body.Close()
		require.NoError(t, err)
		return resp.StatusCode, body.String()
	}
	require.Eventually(t, func() bool {
		status, _ := get("/readyz")
		return status == 200
	}, time.Minute, 20*time.Millisecond)
	status, page := get("/", "Accept", "text/html")
	require.Equal(t, 200, status, page)
	module := regexp.MustCompile(`src="(/assets/[^"]+\.js)"`).FindStringSubmatch(page)
	require.NotNil(t, module, page)
	status, body := get(module[1], "Origin", "https://"+proxyName, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, 200, status, body)
	status, body = get(schema.PathRecent)
	require.Equal(t, 401, status, body)

	owner := hub.Owner("ada")
	status, body = sendRequestAs(t, hub, owner, "POST "+schema.PathTokens, map[string]string{"person": "ada", "name": "laptop"})
	require.Equal(t, 200, status, body)
	var made struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	bearer := "Bearer " + made.Secret
	ws, _, err := websocket.Dial(t.Context(), "ws://"+address+"/stream?v=2", &websocket.DialOptions{
		Host: proxyName, HTTPHeader: http.Header{"Authorization": {bearer}, "Origin": {"https://" + proxyName}},
	})
	require.NoError(t, err)
	defer func() { _ = ws.CloseNow() }()
	next := func() string {
		_, message, err := ws.Read(t.Context())
		require.NoError(t, err)
		return string(message)
	}
	require.Contains(t, next(), `"type":"hello"`)
	status, body = sendRequestAs(t, hub, owner, "POST "+schema.PathEvents, map[string]any{
		"source_app": "a", "session_id": "s", "hook_event_type": "Stop", "payload": map[string]any{},
	})
	require.Equal(t, 200, status, body)
	require.Contains(t, next(), `"type":"event"`)
	status, body = get("/stream?v=2&poll=start&after=0", "Authorization", bearer)
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"type":"event"`)
}
