package main

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
	"github.com/hookback/hookback/schema"
)

const mcpHelp = `hookback mcp [flags]

Speaks the Model Context Protocol on stdin and stdout, for agents that start their
servers as programs, and passes every message on to a hub:

  claude mcp add hookback -- hookback mcp
  claude -p --permission-prompt-tool mcp__hookback__request_approval "..."

With HOOKBACK_TOKEN it shows the hub who it speaks for. Voting needs a person's token.
`

const (
	// maxConcurrentCalls is how many calls may wait for the hub at a time.
	maxConcurrentCalls = 64
	// shutdownGrace is how long calls under way may take once stdin has ended.
	shutdownGrace = 2 * time.Second
	// rpcServerError is the code of errors that are none of the protocol's own.
	rpcServerError = -32000
)

// mcpBridge passes messages from stdin to a hub's /mcp, and what it answers to stdout.
// It knows JSON-RPC and event streams, and nothing of tools: the hub has those.
type mcpBridge struct {
	http  *http.Client
	url   string
	hub   string
	token string

	mu      sync.Mutex
	out     io.Writer
	version string // of the protocol, as it was agreed on
	session string // where a hub gives one
}

// rpcMessage is what the bridge reads of a message.
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

func runMCP(ctx context.Context, args []string, env func(string) string, std streams) int {
	f := newFlags("mcp", mcpHelp, env)
	seconds := f.Int("timeout", 0, "`seconds` that people have for what is asked here; default 300")
	if status, done := f.parse(args, std); done {
		return status
	}
	if len(f.positional) > 0 {
		return std.printError("mcp takes no words; see hookback mcp --help")
	}
	hubs, err := agentclient.Hubs(f.hub)
	if err != nil {
		return std.printError("%v", err)
	}
	query := url.Values{"session": {cmp.Or(f.session, "mcp-"+rand.Text()[:10])}}
	if dir, err := os.Getwd(); f.app != "" || err == nil {
		query.Set("app", cmp.Or(f.app, filepath.Base(dir)))
	}
	if *seconds != 0 {
		query.Set("timeout", fmt.Sprint(*seconds))
	}
	b := &mcpBridge{
		hub: hubs[0], url: hubs[0] + "/mcp?" + query.Encode(), token: env("HOOKBACK_TOKEN"), out: std.out,
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext, MaxIdleConnsPerHost: maxConcurrentCalls,
			},
		},
	}
	if err := b.run(ctx, std.in); err != nil {
		return std.printError("%v", err)
	}
	return exitOK
}

// run passes on one message after the other until stdin or ctx ends. Calls wait for
// their answers beside each other.
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

// drain lets the calls under way end, for a moment: whoever asked is gone.
func (b *mcpBridge) drain(calls *sync.WaitGroup, cancel context.CancelFunc, err error) error {
	timer := time.AfterFunc(shutdownGrace, cancel)
	defer timer.Stop()
	calls.Wait()
	return err
}

// forEachLine calls f with the lines that are not empty, until it returns false.
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
			return fmt.Errorf("reading stdin: %w", err)
		}
	}
}

// readLine reads a line of at most twice a message's size.
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

// dispatch passes one message on. What is no call is waited for, so that messages stay in
// their order.
func (b *mcpBridge) dispatch(ctx context.Context, line []byte, calls *sync.WaitGroup, slots chan struct{}) {
	var m rpcMessage
	if err := json.Unmarshal(line, &m); err != nil {
		b.writeError(json.RawMessage("null"), -32700, "this line is no message of JSON-RPC: "+err.Error())
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

// forward sends a message and writes what comes back. A call always gets an answer.
func (b *mcpBridge) forward(ctx context.Context, m *rpcMessage, line []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(line))
	if err != nil {
		b.replyError(m, err.Error())
		return
	}
	b.setHeaders(req, m)
	res, err := b.http.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			b.replyError(m, fmt.Sprintf("no Hookback hub answers at %s, so nobody was asked and nothing is approved; start one (go run ./server), or name another with HOOKBACK_URL", b.hub))
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
		b.replyError(m, "the hub at "+b.hub+" ended the connection before it answered; nothing is approved")
	}
}

// setHeaders puts the headers on a request that the protocol wants beside the message.
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
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
}

// encodeHeaderValue is a value as the protocol puts it in a header.
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

// forEachEvent calls f with the data of every event of a stream.
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
			return // an event that was not whole is none
		}
	}
}

// writeMessage puts a message on a line of its own; answers says that it is the call's answer.
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
	_, _ = b.out.Write(line.Bytes()) // a client that is gone ends stdin, too
	return answers
}

// replyError answers a call with an error. What is no call has no answer.
func (b *mcpBridge) replyError(m *rpcMessage, text string) {
	if m.isCall() {
		b.writeError(m.ID, rpcServerError, text)
	}
}

func (b *mcpBridge) writeError(id json.RawMessage, code int, text string) {
	message, err := json.Marshal(schema.RPC{JSONRPC: "2.0", ID: id, Error: &schema.RPCError{Code: code, Message: text}})
	if err != nil {
		return // an id that was read can be written
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.out.Write(append(message, '\n'))
}

// rejectionText is what a hub, or whatever listens there, says of a request.
func rejectionText(res *http.Response, hub string) string {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var p schema.Problem
	switch {
	case json.Unmarshal(body, &p) == nil && p.Code != "":
		return strings.TrimSuffix(p.Code+": "+p.Detail+". "+p.Hint, ". ")
	case res.StatusCode == http.StatusNotFound || res.StatusCode < http.StatusBadRequest:
		return "what listens at " + hub + " is no hub that speaks this protocol"
	default:
		return fmt.Sprintf("the hub at %s refused this with %s: %.200s", hub, res.Status, strings.TrimSpace(string(body)))
	}
}
