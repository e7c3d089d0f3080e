// Package mcp is hookback mcp: a bridge from stdin and stdout to a hub's MCP endpoint.
package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

const mcpHelp = `hookback mcp [flags]

Serves the Model Context Protocol on stdin and stdout, for agents that start their
servers as programs, and forwards every message to a hub:

  claude mcp add hookback -- hookback mcp
  claude -p --permission-prompt-tool mcp__hookback__request_approval "..."

HOOKBACK_TOKEN authenticates the agent at the hub. Voting requires a person's token.

If this account trusts a hub, the hub must prove that it holds the trusted key, and an
address from HOOKBACK_URL must be the one that is trusted. If it trusts none, a hub at an
address from HOOKBACK_URL is believed without proof, and any other one is trusted from now on.
`

const (
	// maxConcurrentCalls is the number of calls that can wait for the hub at the same time.
	maxConcurrentCalls = 64
	// shutdownGrace is the time that running calls have after the end of stdin.
	shutdownGrace = 2 * time.Second
	// rpcServerError is the JSON-RPC error code for failures to reach the hub.
	rpcServerError = -32000
)

// mcpBridge forwards messages from stdin to the /mcp endpoint of a hub, and its responses
// to stdout. It handles JSON-RPC and event streams but not the tools, which are in the hub.
type mcpBridge struct {
	http *http.Client
	url  string
	hub  string

	client  *agentclient.Client // checks the hub's key
	options agentclient.Options // select the token

	mu      sync.Mutex
	out     io.Writer
	version string // negotiated protocol version
	session string // Mcp-Session-Id of the hub, if it sent one
}

// rpcMessage holds the members of a message that the bridge reads.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result *struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

func (m *rpcMessage) isCall() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// Run runs hookback mcp.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewFlags("mcp", mcpHelp, env)
	f.AddUnsignedFlag()
	seconds := f.Int("timeout", 0, "`seconds` that people have to answer; default 300")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	if len(f.Positional) > 0 {
		return std.PrintError("mcp takes no arguments; see hookback mcp --help")
	}
	hubs, err := f.Hubs()
	if err != nil {
		return std.PrintError("%v", err)
	}
	query := url.Values{"session": {cmp.Or(f.Session, "mcp-"+rand.Text()[:10])}}
	if dir, err := os.Getwd(); f.App != "" || err == nil {
		query.Set("app", cmp.Or(f.App, filepath.Base(dir)))
	}
	if *seconds != 0 {
		query.Set("timeout", fmt.Sprint(*seconds))
	}
	o := f.Options()
	o.OnFirstContact = std.PrintFirstContact
	client := agentclient.New(o)
	defer client.Close()
	b := &mcpBridge{
		hub: hubs[0], url: socket.HTTPAddress(hubs[0]) + "/mcp?" + query.Encode(), client: client, options: o, out: std.Out,
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: socket.NewTransport(&http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext, MaxIdleConnsPerHost: maxConcurrentCalls,
			}),
		},
	}
	if err := b.run(ctx, std.In); err != nil {
		return std.PrintError("%v", err)
	}
	return cli.ExitOK
}

// run forwards messages until stdin or ctx ends. Calls wait for their responses
// concurrently.
func (b *mcpBridge) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- forEachLine(in, func(line []byte) bool {
			select {
			case lines <- line:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var calls sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentCalls)
	for {
		select {
		case line, more := <-lines:
			if !more {
				return b.drain(&calls, cancel, <-failed)
			}
			b.dispatch(ctx, line, &calls, slots)
		case <-ctx.Done():
			calls.Wait()
			return nil
		}
	}
}

// drain waits for the running calls, at most shutdownGrace, because the client is gone.
func (b *mcpBridge) drain(calls *sync.WaitGroup, cancel context.CancelFunc, err error) error {
	timer := time.AfterFunc(shutdownGrace, cancel)
	defer timer.Stop()
	calls.Wait()
	return err
}

// forEachLine calls f with each non-empty line until f returns false.
func forEachLine(in io.Reader, f func([]byte) bool) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(reader)
		if line = bytes.TrimSpace(line); len(line) > 0 && !f(line) {
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read stdin: %w", err)
		}
	}
}

// readLine reads a line of at most twice the maximum size of a message.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	for {
		chunk, err := reader.ReadSlice('\n')
		line = append(line, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > 2*schema.MaxBody {
			return nil, fmt.Errorf("a message is longer than %d MiB", 2*schema.MaxBody>>20)
		}
	}
}

// dispatch forwards one message. It blocks for initialize and for messages that are not
// calls, so that they keep their order, and acquires a slot of the semaphore for others.
func (b *mcpBridge) dispatch(ctx context.Context, line []byte, calls *sync.WaitGroup, slots chan struct{}) {
	var m rpcMessage
	if err := json.Unmarshal(line, &m); err != nil {
		b.writeError(json.RawMessage("null"), -32700, "this line is not a JSON-RPC message: "+err.Error())
		return
	}
	if !m.isCall() || m.Method == "initialize" {
		b.forward(ctx, &m, line)
		return
	}
	slots <- struct{}{}
	calls.Go(func() {
		defer func() { <-slots }()
		b.forward(ctx, &m, line)
	})
}

// forward sends a message to the hub and writes the response. A call always gets a
// response, if necessary an error.
func (b *mcpBridge) forward(ctx context.Context, m *rpcMessage, line []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(line))
	if err != nil {
		b.replyError(m, err.Error())
		return
	}
	if err := b.client.CheckHub(ctx, b.hub); err != nil {
		b.replyError(m, b.checkErrorText(err))
		return
	}
	b.setHeaders(req, m)
	res, err := b.http.Do(req)
	if err != nil {
		if unsafe := (*socket.UnsafeError)(nil); errors.As(err, &unsafe) {
			b.replyError(m, unsafe.Error())
		} else if ctx.Err() == nil {
			b.replyError(m, b.noHubText())
		}
		return
	}
	defer res.Body.Close()
	b.mu.Lock()
	b.session = cmp.Or(res.Header.Get("Mcp-Session-Id"), b.session)
	b.mu.Unlock()
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	answered := false
	write := func(message []byte) { answered = b.writeMessage(m, message) || answered }
	switch {
	case media == "text/event-stream" && res.StatusCode == http.StatusOK:
		forEachEvent(res.Body, write)
	case media == "application/json":
		if body, err := io.ReadAll(io.LimitReader(res.Body, 2*schema.MaxBody)); err == nil {
			write(body)
		}
	case res.StatusCode >= 300:
		b.replyError(m, rejectionText(res, b.hub))
		return
	}
	if !answered && ctx.Err() == nil {
		b.replyError(m, "the hub at "+b.hub+" ended the connection before it answered; nothing was approved")
	}
}

func (b *mcpBridge) noHubText() string {
	return fmt.Sprintf("no Hookback hub answers at %s; no one was asked and nothing was approved; start a hub (hookback up) or name another with HOOKBACK_URL", b.hub)
}

// checkErrorText explains why the bridge does not talk to the hub.
func (b *mcpBridge) checkErrorText(err error) string {
	if errors.Is(err, agentclient.ErrUnreachable) {
		return b.noHubText()
	}
	return err.Error()
}

// setHeaders sets the HTTP headers that the protocol requires for a message.
func (b *mcpBridge) setHeaders(req *http.Request, m *rpcMessage) {
	b.mu.Lock()
	version, session := b.version, b.session
	b.mu.Unlock()
	var fromMessage string
	if json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &fromMessage) == nil {
		version = fromMessage
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": version, "Mcp-Session-Id": session,
		"Mcp-Method": m.Method, "Mcp-Name": encodeHeaderValue(cmp.Or(m.Params.Name, m.Params.URI)),
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if token, err := agentclient.TokenFor(b.options, b.hub); err == nil && token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
}

// encodeHeaderValue encodes a header value as the protocol requires: in Base64 unless it
// is printable ASCII.
func encodeHeaderValue(value string) string {
	isPlain := value == strings.TrimSpace(value) && !strings.HasPrefix(value, "=?base64?")
	for _, r := range value {
		isPlain = isPlain && r >= ' ' && r < 0x7f
	}
	if isPlain {
		return value
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// forEachEvent calls f with the data of each event of a server-sent event stream.
func forEachEvent(stream io.Reader, f func([]byte)) {
	reader := bufio.NewReader(stream)
	var data []byte
	for {
		line, err := readLine(reader)
		line = bytes.TrimRight(line, "\r\n")
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
		}
		if len(line) == 0 && len(data) > 0 {
			f(data)
			data = nil
		}
		if err != nil {
			return // drop an incomplete event
		}
	}
}

// writeMessage writes a message as one line. answers reports whether it is the response
// to the call m.
func (b *mcpBridge) writeMessage(m *rpcMessage, message []byte) (answers bool) {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return false
	}
	line.WriteByte('\n')
	var got rpcMessage
	if json.Unmarshal(message, &got) == nil {
		answers = got.Method == "" && bytes.Equal(got.ID, m.ID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.Method == "initialize" && got.Result != nil {
		b.version = got.Result.ProtocolVersion
	}
	_, _ = b.out.Write(line.Bytes()) // if the client is gone, stdin ends too
	return answers
}

// replyError answers a call with an error. Notifications get no response.
func (b *mcpBridge) replyError(m *rpcMessage, text string) {
	if m.isCall() {
		b.writeError(m.ID, rpcServerError, text)
	}
}

func (b *mcpBridge) writeError(id json.RawMessage, code int, text string) {
	message, err := json.Marshal(schema.RPC{JSONRPC: "2.0", ID: id, Error: &schema.RPCError{Code: code, Message: text}})
	if err != nil {
		return // cannot happen: the id came from valid JSON
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.out.Write(append(message, '\n'))
}

// rejectionText describes an error response of the hub, or of another server.
func rejectionText(res *http.Response, hub string) string {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var p schema.Problem
	switch {
	case json.Unmarshal(body, &p) == nil && p.Code != "":
		return strings.TrimSuffix(p.Code+": "+p.Detail+". "+p.Hint, ". ")
	case res.StatusCode == http.StatusNotFound || res.StatusCode < http.StatusBadRequest:
		return "the server at " + hub + " is not a hub with MCP support"
	default:
		return fmt.Sprintf("the hub at %s rejected the message with %s: %.200s", hub, res.Status, strings.TrimSpace(string(body)))
	}
}
