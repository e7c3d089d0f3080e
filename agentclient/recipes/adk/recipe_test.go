package adk_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/agentclient/recipes/adk"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	var known []goleak.Option
	for _, f := range hubtest.Goroutines() {
		known = append(known, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, known...)
}

// mockModel calls delete_file, and then repeats the result of the call.
type mockModel struct{ calls int }

func (*mockModel) Name() string { return "mock" }

func (m *mockModel) GenerateContent(_ context.Context, r *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	m.calls++
	part := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "call_1", Name: "delete_file", Args: map[string]any{"path": "a.txt"}}}
	last := r.Contents[len(r.Contents)-1].Parts
	if response := last[len(last)-1].FunctionResponse; response != nil {
		text, err := json.Marshal(response.Response)
		if err != nil {
			return func(yield func(*model.LLMResponse, error) bool) { yield(nil, err) }
		}
		part = &genai.Part{Text: string(text)}
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}, nil)
	}
}

type fileArgs struct {
	Path string `json:"path"`
}

type fileResult struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

func newClient(t *testing.T, hub *hubtest.Hub) *agentclient.Client {
	client := agentclient.New(hub.Options())
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A call pauses in the real Agent Development Kit, and runs with the same id and arguments once a
// person has approved it. The model hears of a rejection.
func TestBeforeTool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer schema.Response
		want   string
	}{
		"approved":             {schema.Response{Permission: new(true)}, `{"id":"call_1","path":"a.txt"}`},
		"changed":              {schema.Response{Permission: new(true), ModifiedArguments: json.RawMessage(`{"path":"b.txt"}`)}, `{"id":"call_1","path":"b.txt"}`},
		"rejected":             {schema.Response{Permission: new(false)}, `{"status":"rejected","message":"Tool call was rejected by user."}`},
		"rejected with reason": {schema.Response{Permission: new(false), Reason: "keep it"}, `{"status":"rejected","message":"Tool call was rejected by operator: keep it"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hubtest.Start(t)
			deleteFile, err := functiontool.New(functiontool.Config{Name: "delete_file", Description: "Deletes a file."},
				func(ctx tool.Context, args fileArgs) (fileResult, error) {
					return fileResult{ctx.FunctionCallID(), args.Path}, nil
				})
			require.NoError(t, err)
			mock := &mockModel{}
			a, err := llmagent.New(llmagent.Config{
				Name: "files", Model: mock, Tools: []tool.Tool{deleteFile},
				BeforeToolCallbacks: []llmagent.BeforeToolCallback{adk.BeforeTool(newClient(t, hub), policy.Tools("delete_file"))},
			})
			require.NoError(t, err)
			sessions := session.InMemoryService()
			_, err = sessions.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s1"})
			require.NoError(t, err)
			r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: sessions})
			require.NoError(t, err)
			answered := make(chan error, 1)
			go func() { answered <- hub.Answer(t.Context(), test.answer) }()
			final := ""
			for event, err := range r.Run(t.Context(), "u", "s1", genai.NewContentFromText("Delete a.txt", genai.RoleUser), agent.RunConfig{}) {
				require.NoError(t, err)
				for _, part := range event.Content.Parts {
					final = part.Text
				}
			}
			require.NoError(t, <-answered)
			require.JSONEq(t, test.want, final)
			require.Equal(t, 2, mock.calls, "no call of the model while the tool waits")
		})
	}
}

// a2aClient returns a client of a real A2A server with the executor.
func a2aClient(t *testing.T, executor *adk.Executor) *a2aclient.Client {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
		URL: server.URL + "/invoke", PreferredTransport: a2a.TransportProtocolJSONRPC, Capabilities: a2a.AgentCapabilities{Streaming: true},
	}))
	mux.Handle("/invoke", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(executor)))
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), server.URL)
	require.NoError(t, err)
	client, err := a2aclient.NewFromCard(t.Context(), card)
	require.NoError(t, err)
	return client
}

// send sends a message and returns the task in the state that the message leads to.
func send(t *testing.T, client *a2aclient.Client, message *a2a.Message) *a2a.Task {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := client.SendMessage(ctx, &a2a.MessageSendParams{Message: message})
	require.NoError(t, err)
	require.IsType(t, &a2a.Task{}, result)
	return result.(*a2a.Task)
}

// dataOf returns the data of the message of a task's state.
func dataOf(t *testing.T, task *a2a.Task) string {
	require.NotNil(t, task.Status.Message, "%+v", task.Status)
	text, err := json.Marshal(task.Status.Message.Parts[0].(a2a.DataPart).Data)
	require.NoError(t, err)
	return string(text)
}

// An A2A task requires input while a person has to decide. The decision comes by A2A, or from the
// hub, and the task goes on with the same call.
func TestExecutor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		decision map[string]any // by A2A; nil: in the hub
		want     string
	}{
		"approve":    {map[string]any{"decision_type": "approve"}, `{"id":"call_1","path":"a.txt"}`},
		"deny":       {map[string]any{"decision_type": "deny", "reason": "keep it"}, `{"status":"rejected","message":"Tool call was rejected by operator: keep it"}`},
		"in the hub": {nil, `{"id":"call_1","path":"a.txt"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hubtest.Start(t)
			client := a2aClient(t, &adk.Executor{
				Client: newClient(t, hub), Hub: hub.URL(), Policy: policy.Tools("delete_file"),
				Call: func(*a2a.Message) agentclient.ToolCall {
					return agentclient.ToolCall{ID: "call_1", Name: "delete_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}
				},
				Tool: func(_ context.Context, call agentclient.ToolCall) (map[string]any, error) {
					var args fileArgs
					err := json.Unmarshal(call.Arguments, &args)
					return map[string]any{"id": call.ID, "path": args.Path}, err
				},
			})
			task := send(t, client, a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: "Delete a.txt"}))
			require.Equal(t, a2a.TaskStateInputRequired, task.Status.State)
			require.JSONEq(t, `{"name": "adk_request_confirmation", "id": "1",
				"args": {"originalFunctionCall": {"name": "delete_file", "id": "call_1", "args": {"path": "a.txt"}}}}`, dataOf(t, task))
			require.Equal(t, map[string]any{"type": "function_call", "is_long_running": true}, task.Status.Message.Parts[0].Meta())
			answer := a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.DataPart{Data: test.decision})
			if test.decision == nil {
				require.NoError(t, hub.Answer(t.Context(), schema.Response{Permission: new(true)}))
				answer = a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.TextPart{Text: "And now?"})
			}
			task = send(t, client, answer)
			require.Equal(t, a2a.TaskStateCompleted, task.Status.State)
			require.JSONEq(t, `{"name": "delete_file", "id": "call_1", "response": `+test.want+`}`, dataOf(t, task))
		})
	}
}
