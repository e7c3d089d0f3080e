// Package recipes_test runs the recipes against a real hub and a mock model: make recipes.
package recipes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// waitLimit exceeds every wait of these tests.
const waitLimit = 2 * time.Minute

// recipes are the programs by folder. Pydantic AI (PyPI) and Mastra (Node 22.13) are not among
// them: no test here can run them.
var recipes = map[string]struct {
	command  []string
	canEdit  bool
	hasModel bool
}{
	"openai-agents": {command: []string{"node", "openai-agents/recipe.mjs"}, hasModel: true},
	"vercel-ai-sdk": {command: []string{"node", "vercel-ai-sdk/recipe.mjs"}, hasModel: true},
	"langgraph":     {command: []string{"node", "langgraph/recipe.mjs"}, canEdit: true},
	"python":        {command: []string{"python3", "python/recipe.py"}, canEdit: true},
}

// serveModel is a chat model that calls delete_folder, and then repeats the result of the call.
func serveModel(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	finish := "tool_calls"
	message := map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
		"id": "call_1", "type": "function", "function": map[string]string{"name": "delete_folder", "arguments": `{"path":"./build"}`},
	}}}
	if last := request.Messages[len(request.Messages)-1]; last.Role == "tool" {
		finish, message = "stop", map[string]any{"role": "assistant", "content": fmt.Sprint(last.Content)}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "c1", "object": "chat.completion", "created": 1, "model": "mock",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	})
}

func TestRecipes(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKBACK_RECIPES") == "" {
		t.Skip("run with make recipes")
	}
	model := httptest.NewServer(http.HandlerFunc(serveModel))
	t.Cleanup(model.Close)
	for name, recipe := range recipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hubtest.Start(t)
			run := func(answer, timeout string) string {
				ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
				defer cancel()
				program := exec.CommandContext(ctx, recipe.command[0], recipe.command[1:]...)
				program.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HOOKBACK_URL=" + hub.URL(), "HOOKBACK_TIMEOUT=" + timeout, "OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_API_KEY=none"}
				var errors strings.Builder
				program.Stderr = &errors
				if answer != "" {
					go respond(ctx, t, hub, answer)
				}
				out, err := program.Output()
				require.NoError(t, err, errors.String())
				return strings.TrimSpace(string(out))
			}
			require.Equal(t, "deleted ./build", run(`{"permission":true}`, "120"))
			require.Contains(t, run(`{"permission":false,"reason":"keep it"}`, "120"), "keep it")
			late := run("", "0.2")
			require.NotContains(t, late, "deleted")
			require.NotEmpty(t, late)
			if recipe.canEdit {
				require.Equal(t, "deleted ./dist", run(`{"permission":true,"modifiedArguments":{"path":"./dist"}}`, "120"))
			}
		})
	}
}

// respond answers the next pending question.
func respond(ctx context.Context, t *testing.T, hub *hubtest.Hub, answer string) {
	for ctx.Err() == nil {
		var page []schema.Event
		resp, err := http.Get(hub.URL() + schema.PathEvents + "?status=pending")
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&page)
			_ = resp.Body.Close()
		}
		if err != nil {
			t.Error(err)
			return
		}
		if len(page) > 0 {
			resp, err := http.Post(hub.URL()+schema.At(schema.PathRespond, page[0].ID), "application/json", strings.NewReader(answer))
			if err != nil {
				t.Error(err)
				return
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s", b)
			}
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
