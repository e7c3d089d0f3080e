package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	var kept []goleak.Option
	for _, function := range hubtest.Goroutines() {
		kept = append(kept, goleak.IgnoreAnyFunction(function))
	}
	goleak.VerifyTestMain(m, kept...)
}

// contract validates the messages of a real hub against the generated schema, the only
// definition that clients in other languages have.
type contract struct {
	t          *testing.T
	hub        *hubtest.Hub
	client     http.Client
	validators map[string]*jsonschema.Schema
}

func newContract(t *testing.T) *contract {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.JSONSchema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("hub.schema.json", doc))
	c := &contract{t: t, hub: hubtest.Start(t), validators: map[string]*jsonschema.Schema{}}
	for name := range doc.(map[string]any)["$defs"].(map[string]any) {
		c.validators[name] = compiler.MustCompile("hub.schema.json#/$defs/" + name)
	}
	t.Cleanup(c.client.CloseIdleConnections)
	return c
}

// requireValid asserts that text is a message of the type, or an array for Type[].
func (c *contract) requireValid(typeName string, text []byte) {
	c.t.Helper()
	message, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(c.t, err, string(text))
	all := []any{message}
	name, array := strings.CutSuffix(typeName, "[]")
	if array {
		all = message.([]any)
	}
	for _, one := range all {
		require.NoError(c.t, c.validators[name].Validate(one), string(text))
	}
}

// checkResponse sends a request and asserts status and type of the response.
func (c *contract) checkResponse(request, body string, status int, typeName string) []byte {
	c.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.hub.URL()+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client.Do(r)
	require.NoError(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, status, res.StatusCode, "%s: %s", request, text)
	if typeName == "Problem" {
		require.Equal(c.t, schema.ProblemMediaType, res.Header.Get("Content-Type"))
	}
	c.requireValid(typeName, text)
	return text
}

// TestContract_Messages validates one message of each type from a real hub.
func TestContract_Messages(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	const plain = `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{"x":1},"else":{"kept":[1]}}`
	const question = `{"source_app":"a","session_id":"s","hook_event_type":"DecisionPoint","payload":{},"humanInTheLoop":{"question":"Go on?","type":"choice","choices":["a","b"]}}`
	c.checkResponse("POST /events", plain, 200, "Event")
	c.checkResponse("POST /events", question, 200, "Event")
	c.checkResponse("POST /events/batch", "["+plain+","+question+`,{"source_app":"a"}]`, 200, "BatchResult[]")
	c.checkResponse("POST /events/2/respond", `{"choice":"c"}`, 422, "Problem")
	c.checkResponse("POST /events/2/respond", `{"choice":"a","comment":"so be it"}`, 200, "Event")
	c.checkResponse("POST /events/2/respond", `{"choice":"b"}`, 409, "Problem")
	c.checkResponse("GET /events/2/response", "", 200, "Answer")
	c.checkResponse("POST /events/4/cancel", `{"reason":"superseded"}`, 200, "Event")
	c.checkResponse("POST /events/4/respond", `{"choice":"b"}`, 410, "Problem")
	c.checkResponse("POST /events/1/respond", `{"choice":"b"}`, 422, "Problem")
	c.checkResponse("POST /events/99/respond", `{"choice":"b"}`, 404, "Problem")
	const permission = `{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":{"question":"Go on?","type":"permission"}}`
	c.checkResponse("POST /events", permission, 200, "Event")
	c.checkResponse("POST /events/8/handled", "", 409, "Problem")
	c.checkResponse("POST /events/8/respond", `{"permission":true,"holdMs":30000}`, 200, "Event")
	c.checkResponse("POST /events/8/respond", `{"permission":false}`, 409, "Problem")
	c.checkResponse("POST /events/8/undo", "", 200, "Event")
	c.checkResponse("POST /events/8/undo", "{}", 409, "Problem")
	c.checkResponse("POST /events/approve", `{"requests":[{"id":8,"revision":3},{"id":1,"revision":1}]}`, 200, "BatchResult[]")
	c.checkResponse("POST /events/approve", `{"requests":[]}`, 400, "Problem")
	c.checkResponse("POST /events/8/redeliver", "", 409, "Problem")
	c.checkResponse("POST /events/2/redeliver", "", 409, "Problem")
	c.checkResponse("POST /events/2/handled", "", 200, "Event")
	c.checkResponse("POST /events", `{"source_app":7}`, 400, "Problem")
	c.checkResponse("POST /events", `[]`, 400, "Problem")
	c.checkResponse("GET /nowhere.json", "", 404, "Problem")
	c.checkResponse("PUT /events", "{}", 405, "Problem")
	c.checkResponse("GET /events/2", "", 200, "Event")
	c.checkResponse("GET /events/2/context", "", 200, "QuestionContext")
	c.checkResponse("GET /events/1/context", "", 422, "Problem")
	c.checkResponse("GET /events/99/context", "", 404, "Problem")
	c.checkResponse("GET /events/recent", "", 200, "Event[]")
	c.checkResponse("GET /events?status=responded", "", 200, "Event[]")
	c.checkResponse("GET /events/filter-options", "", 200, "FilterOptions")
	c.checkResponse("GET /events/search?filter=status:responded+-nothing", "", 200, "SearchResult")
	c.checkResponse("GET /events/search?filter=/(/", "", 400, "Problem")
	c.checkResponse("GET /api/sessions?q=s", "", 200, "SessionPage")
	c.checkResponse("GET /api/session?source_app=a&session_id=none", "", 404, "Problem")
	c.checkResponse("GET /api/overview?days=2&tz=Europe/Berlin", "", 200, "Overview")
	c.checkResponse("GET /hitl/requests?status=decided&agent=a", "", 200, "HitlPage")
	c.checkResponse("GET /authenticated/hitl/requests/2", "", 200, "HitlRequest")
	c.checkResponse("GET /hitl/requests/1", "", 422, "Problem")
	c.checkResponse("GET /hitl/stats?days=3", "", 200, "HitlStats")
	c.checkResponse("GET /api/approvals", "", 200, "Approval[]")
	c.checkResponse("POST /events/2/extend", `{"seconds":60}`, 409, "Problem")
	c.checkResponse("POST /events/2/execution", `{"state":"succeeded","requestSecret":"guessed"}`, 403, "Problem")
	c.checkResponse("GET /healthz", "", 200, "Health")
	c.checkResponse("GET /readyz", "", 200, "Health")
	require.JSONEq(t, string(schema.OpenAPI), string(c.fetch("/openapi.json")))
}

func (c *contract) fetch(path string) []byte {
	res, err := c.client.Get(c.hub.URL() + path)
	require.NoError(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return text
}

// TestContract_Streams follows both versions of the stream through the
// life of a question with an acknowledging listener.
func TestContract_Streams(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, second := c.follow(ctx, ""), c.follow(ctx, "?v=2")
	require.Equal(t, schema.Initial, first()[0].Type)
	require.Equal(t, schema.HelloFrame, second()[0].Type)

	client := agentclient.New(agentclient.Options{Hubs: []string{c.hub.URL()}, SourceApp: "a", SessionID: "s", KnownHubs: filepath.Join(t.TempDir(), "known_hubs"), Env: func(string) string { return "" }})
	defer client.Close()
	approved := make(chan bool, 1)
	go func() {
		d, err := client.AskPermission(ctx, "Go on?")
		approved <- err == nil && d.Approved()
	}()
	require.Equal(t, schema.EventFrame, first()[0].Type)
	c.checkResponse("POST /events/1/respond", `{"permission":true}`, 200, "Event")
	require.True(t, <-approved)
	require.Equal(t, schema.EventFrame, first()[0].Type, "version 1 gets the end of a question as an event")

	// Version 2 gets every change, without a hole, up to the acknowledgement.
	seq, acked := int64(0), false
	for !acked {
		for _, frame := range second() {
			require.Equal(t, seq+1, frame.Seq)
			seq = frame.Seq
			if frame.Type == schema.StatusFrame {
				var change schema.StatusChange
				require.NoError(t, json.Unmarshal(frame.Data, &change))
				delivery := change.HumanInTheLoopStatus.Delivery
				acked = delivery != nil && delivery.State == schema.Acked
			}
		}
	}
}

// follow opens a stream; the function it returns waits for the next message.
func (c *contract) follow(ctx context.Context, query string) func() []schema.Frame {
	conn, _, err := websocket.Dial(ctx, c.hub.StreamURL()+query, &websocket.DialOptions{HTTPClient: &c.client})
	require.NoError(c.t, err)
	conn.SetReadLimit(8 << 20)
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	return func() []schema.Frame {
		_, text, err := conn.Read(ctx)
		require.NoError(c.t, err)
		if text[0] == '[' {
			c.requireValid("Frame[]", text)
		} else {
			c.requireValid("Frame", text)
			text = []byte("[" + string(text) + "]")
		}
		var frames []schema.Frame
		require.NoError(c.t, json.Unmarshal(text, &frames))
		return frames
	}
}
