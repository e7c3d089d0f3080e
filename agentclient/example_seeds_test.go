package agentclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// An approval queue: tools with a risk wait, and a denied call is a result for the model.
func Example_approvalQueue() {
	hub, stop := startHub(schema.Response{Permission: new(false), Reason: "not before Monday"})
	defer stop()
	client := agentclient.New(hub.Options())
	defer client.Close()

	publish := agentclient.Guard(client, policy.Tools("cms_publishPost", "cms_deletePost", "http_post"),
		func(context.Context, agentclient.ToolCall) (string, error) { return "published", nil },
		func(_ agentclient.ToolCall, r *agentclient.Request) {
			r.Question, r.Risk = "Publish the post “launch”?", schema.HighRisk
		})
	result, err := publish(context.Background(), agentclient.ToolCall{
		ID: "call_1", Name: "cms_publishPost", Arguments: json.RawMessage(`{"slug":"launch"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.Marshal(result.Queue())
	fmt.Println(string(text), err)
	// Output: {"success":false,"cancelled":true,"reason":"not before Monday"} <nil>
}

// A list of tools that require approval, which must be tools of the agent. A rejected call is
// told apart from a failed one.
func Example_requireApproval() {
	hub, stop := startHub(schema.Response{Permission: new(false)})
	defer stop()
	client := agentclient.New(hub.Options())
	defer client.Close()

	gate, err := agentclient.RequireApproval([]string{"read_file", "write_file", "delete_file"}, []string{"delete_file", "write_file"})
	if err != nil {
		fmt.Println(err)
		return
	}
	guarded := agentclient.Guard(client, gate, func(_ context.Context, call agentclient.ToolCall) (string, error) { return "done", nil })
	for _, tool := range []string{"read_file", "delete_file"} {
		result, err := guarded(context.Background(), agentclient.ToolCall{Name: tool, Arguments: json.RawMessage(`{"path":"a.txt"}`)})
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := json.Marshal(result.Confirmation())
		fmt.Println(tool, string(text), err)
	}
	// Output:
	// read_file {"status":"completed"} <nil>
	// delete_file {"status":"rejected","message":"Tool call was rejected by user."} <nil>
}

// Policies by amount and by name, from a configuration file. The approver lowers the amount.
func Example_policies() {
	hub, stop := startHub(schema.Response{Permission: new(true), ModifiedArguments: json.RawMessage(`{"orderId":"1234","amount":25000}`)})
	defer stop()
	client := agentclient.New(hub.Options())
	defer client.Close()

	settings := agentclient.Approvals{Enabled: true, TimeoutMS: 300_000, Policy: policy.Any(
		policy.All(policy.Tools("process_refund"), policy.Above("amount", 10_000)), policy.Tools("delete_order"))}
	refund := agentclient.Guard(client, settings,
		func(_ context.Context, call agentclient.ToolCall) (string, error) { return string(call.Arguments), nil }, settings.Details)
	for _, arguments := range []string{`{"orderId":"1233","amount":100}`, `{"orderId":"1234","amount":50000}`} {
		result, err := refund(context.Background(), agentclient.ToolCall{Name: "process_refund", Arguments: json.RawMessage(arguments)})
		fmt.Println(result.Status, result.Output, err)
	}
	// Output:
	// ran {"orderId":"1233","amount":100} <nil>
	// ran {"orderId":"1234","amount":25000} <nil>
}

// The three kinds of questions: a permission, a text and a choice.
func Example_kinds() {
	hub, stop := startHub(
		schema.Response{Permission: new(true)}, schema.Response{Response: new("snake_case")}, schema.Response{Choice: new("Vitest")})
	defer stop()
	client := agentclient.New(hub.Options())
	defer client.Close()

	ctx := context.Background()
	permission, err := client.AskPermission(ctx, "Delete the old logs?")
	fmt.Println(permission.Approved(), err)
	text, err := client.AskText(ctx, "What naming convention should I use?")
	fmt.Println(text.Text, err)
	choice, err := client.AskChoice(ctx, "Which testing framework?", "Jest", "Vitest", "Mocha")
	fmt.Println(choice.Choice, err)
	// Output:
	// true <nil>
	// snake_case <nil>
	// Vitest <nil>
}

// A release gate with labels. The run goes on by the label, and fails without an answer in time.
func Example_releaseGate() {
	hub, stop := startHub(schema.Response{Choice: new("needs_revision"), Comment: "the changelog is missing"})
	defer stop()
	client := agentclient.New(hub.Options())
	defer client.Close()

	decision, err := client.Ask(context.Background(), agentclient.Request{
		Question: "Release 1.4?", Choices: []string{"ship_it", "needs_revision", "abandon"},
		Timeout: 24 * time.Hour, FailRun: true, RemindEvery: time.Hour, MaxReminders: 3,
	})
	if err != nil {
		fmt.Println("the run failed:", err)
		return
	}
	fmt.Println(decision.Outcome, "-", decision.Comment)
	// Output: needs_revision - the changelog is missing
}
