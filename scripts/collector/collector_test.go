package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waitLimit exceeds every wait of these tests, the pause of the hub's circuit breaker included.
const waitLimit = 3 * time.Minute

const collectorConfig = `
receivers:
  otlp:
    protocols:
      http:
        endpoint: %s
exporters:
  file:
    path: %s
    append: true
    flush_interval: 10ms
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [file]
`

// build compiles a package into the directory.
func build(t *testing.T, dir, module, name string) string {
	t.Helper()
	binary := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return binary
}

// process is a running program.
type process struct {
	*exec.Cmd
	output bytes.Buffer
}

func start(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(binary, args...)}
	p.Env = []string{"HOME=" + t.TempDir()}
	p.Stderr = &p.output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process without notice.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// await polls until the condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("timeout: %s", what)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

func isListening(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// readSpans returns the names of the spans in the collector's file by session, and how often each id is in it.
func readSpans(t *testing.T, file string) (names map[string][]string, ids map[string]int) {
	t.Helper()
	names, ids = map[string][]string{}, map[string]int{}
	f, err := os.Open(file)
	if err != nil {
		return names, ids // not written yet
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					SchemaURL string `json:"schemaUrl"`
					Spans     []struct {
						TraceID, SpanID, ParentSpanID, Name string
						Attributes                          []struct {
							Key   string
							Value struct{ StringValue string }
						}
					}
				}
			}
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // a line that is being written
		}
		for _, r := range line.ResourceSpans {
			for _, s := range r.ScopeSpans {
				if s.SchemaURL != "https://opentelemetry.io/schemas/1.41.0" {
					t.Errorf("schema URL %q", s.SchemaURL)
				}
				for _, span := range s.Spans {
					ids[span.TraceID+span.SpanID]++
					for _, a := range span.Attributes {
						if a.Key == "gen_ai.conversation.id" {
							names[a.Value.StringValue] = append(names[a.Value.StringValue], span.Name)
						}
					}
				}
			}
		}
	}
	return names, ids
}

// postTurn posts a turn with one call.
func postTurn(t *testing.T, hub, session string) {
	t.Helper()
	for _, event := range [][2]string{
		{"UserPromptSubmit", `{"prompt":"p"}`},
		{"PreToolUse", `{"tool_use_id":"t","tool_name":"Bash"}`},
		{"PostToolUse", `{"tool_use_id":"t","tool_name":"Bash"}`},
		{"Stop", `{}`},
	} {
		body := fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":%q,"payload":%s}`, session, event[0], event[1])
		resp, err := http.Post(hub+"/events", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("POST /events: %s", resp.Status)
		}
	}
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// TestCollector_ReceivesEveryTurnOnce kills the collector, and later the hub, between turns.
func TestCollector_ReceivesEveryTurnOnce(t *testing.T) {
	dir := t.TempDir()
	collector, hub := build(t, dir, ".", "collector"), build(t, dir, "../../server", "hookback-server")
	address, hubAddress, file := freeAddress(t), freeAddress(t), filepath.Join(dir, "traces.json")
	config := filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, address, file), 0o600); err != nil {
		t.Fatal(err)
	}
	startCollector := func() *process {
		p := start(t, collector, "--config", config)
		await(t, "the collector listens", func() bool { return isListening(address) })
		return p
	}
	hubURL := "http://" + hubAddress
	startHub := func() *process {
		p := start(t, hub, "-addr", hubAddress, "-socket", "off", "-db", filepath.Join(dir, "hub.db"), "-otlp-endpoint", "http://"+address)
		await(t, "the hub is ready", func() bool { return strings.Contains(get(hubURL+"/readyz"), `"ok"`) })
		return p
	}
	received := func(sessions ...string) func() bool {
		return func() bool {
			names, _ := readSpans(t, file)
			for _, s := range sessions {
				if len(names[s]) < 2 {
					return false
				}
			}
			return true
		}
	}
	c, h := startCollector(), startHub()
	await(t, "the hub sends turns", func() bool { // it begins with the turns after its start
		postTurn(t, hubURL, "early")
		return received("early")()
	})
	postTurn(t, hubURL, "s1")
	await(t, "the first turn is in the file", received("s1"))

	c.kill()
	postTurn(t, hubURL, "s2")
	await(t, "the circuit breaker opens", func() bool { return strings.Contains(get(hubURL+"/metrics"), "\nhookback_traces_paused 1\n") })
	if ready := get(hubURL + "/readyz"); !strings.Contains(ready, "traces are not sent") {
		t.Errorf("readiness: %s", ready)
	}
	h.kill()
	h = startHub()
	postTurn(t, hubURL, "s3")
	c = startCollector()
	await(t, "the turns from the time without a collector are in the file", received("s2", "s3"))

	h.kill()
	startHub()
	postTurn(t, hubURL, "s4")
	await(t, "the turn after the restart of the hub is in the file", received("s4"))
	c.kill()

	names, ids := readSpans(t, file)
	for _, s := range []string{"s1", "s2", "s3", "s4"} {
		if got := strings.Join(names[s], ", "); got != "invoke_agent shop, execute_tool Bash" {
			t.Errorf("%s has the spans %s", s, got)
		}
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("span %s was sent %d times", id, n)
		}
	}
}
