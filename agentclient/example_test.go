package agentclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// startHub starts a real hub whose person at the dashboard gives the answers in turn.
func startHub(answers ...schema.Response) (hub *hubtest.Hub, stop func()) {
	t := &exampleTB{}
	hub = hubtest.Start(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := hub.Answer(ctx, answers...); err != nil && ctx.Err() == nil {
			panic(err)
		}
	}()
	return hub, func() { cancel(); <-done; t.runCleanups() }
}

// exampleTB runs a hub in an example, which gets no testing.TB.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (*exampleTB) Helper()                           {}
func (*exampleTB) Log(...any)                        {}
func (*exampleTB) Logf(string, ...any)               {}
func (*exampleTB) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*exampleTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*exampleTB) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }

func (t *exampleTB) TempDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (t *exampleTB) runCleanups() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}

func Example() {
	hub, stop := startHub(schema.Response{Permission: new(true)})
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	decision, err := client.AskPermission(context.Background(), "May I delete ./build?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("approved:", decision.Approved())
	// Output: approved: true
}

func ExampleClient_AskChoice() {
	hub, stop := startHub(schema.Response{Choice: new("Vitest")})
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	decision, err := client.AskChoice(context.Background(), "Which testing framework?", "Jest", "Vitest", "Mocha")
	if err != nil || !decision.Answered() {
		fmt.Println("no choice:", decision.Outcome, err)
		return
	}
	fmt.Println(decision.Choice)
	// Output: Vitest
}

func ExampleClient_AskText() {
	hub, stop := startHub(schema.Response{Response: new("Use snake_case for functions")})
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	decision, err := client.AskText(context.Background(), "What naming convention should I use?")
	if err != nil || !decision.Answered() {
		fmt.Println("no answer:", decision.Outcome, err)
		return
	}
	fmt.Println(decision.Text)
	// Output: Use snake_case for functions
}

// The approver may edit this tool call, so run the arguments of the decision.
func ExampleClient_Ask() {
	hub, stop := startHub(schema.Response{
		Permission: new(true), ModifiedArguments: json.RawMessage(`{"table":"sessions","rows":100}`),
		Comment: "in small batches",
	})
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	decision, err := client.Ask(context.Background(), agentclient.Request{
		Question: "Delete 500 old records?",
		Risk:     schema.HighRisk,
		Context:  &schema.Context{Why: "The disk is nearly full."},
		ToolCall: &schema.ToolCall{
			Name:      "delete_rows",
			Arguments: json.RawMessage(`{"table":"sessions","rows":500}`),
			Editable:  true,
		},
		Timeout: 10 * time.Minute,
	})
	if err != nil || !decision.Approved() {
		fmt.Println("not deleted:", decision.Guidance, err)
		return
	}
	fmt.Printf("delete_rows %s (%s)\n", decision.Arguments, decision.Comment)
	// Output: delete_rows {"table":"sessions","rows":100} (in small batches)
}

// Without a hub nothing is approved. Fail also returns an error.
func ExampleOptions_onUnreachable() {
	hub, stop := startHub()
	options := hub.Options()
	stop() // the address now refuses connections

	options.UnreachableAfter = 10 * time.Millisecond
	client := agentclient.New(options)
	defer client.Close()

	decision, err := client.AskPermission(context.Background(), "May I?")
	fmt.Println(decision.Approved(), decision.Outcome, err)

	decision, err = client.Ask(context.Background(), agentclient.Request{
		Question:      "May I?",
		OnUnreachable: agentclient.Fail,
	})
	fmt.Println(decision.Approved(), errors.Is(err, agentclient.ErrUnreachable))
	// Output:
	// false __unreachable__ <nil>
	// false true
}

func ExampleClient_Send() {
	hub, stop := startHub()
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	sent, err := client.Send(context.Background(), schema.Event{
		HookEventType: "PostToolUse",
		ToolName:      "Bash",
		Summary:       "Bash: go test ./...",
		Payload:       json.RawMessage(`{"command":"go test ./..."}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("stored as event", sent.ID)
	// Output: stored as event 1
}

func ExampleGuard() {
	hub, stop := startHub(schema.Response{Permission: new(false), Reason: "already refunded"})
	defer stop()

	client := agentclient.New(hub.Options())
	defer client.Close()

	refund := agentclient.Guard(client, policy.Above("amount", 10000),
		func(_ context.Context, call agentclient.ToolCall) (string, error) {
			return "refunded " + string(call.Arguments), nil
		})
	for _, arguments := range []string{`{"amount":5}`, `{"amount":20000}`} {
		result, err := refund(context.Background(), agentclient.ToolCall{Name: "refund", Arguments: json.RawMessage(arguments)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s%s\n", result.Status, result.Output, result.Reason)
	}
	// Output:
	// ran: refunded {"amount":5}
	// denied: already refunded
}

func ExampleConfirm() {
	remove := agentclient.Confirm[string]{
		Tool: func(context.Context, agentclient.ToolCall) (string, error) { return "deleted", nil },
		Describe: func(context.Context, agentclient.ToolCall) (string, map[string]any, error) {
			return "Delete “About us” and its 3 sections?", map[string]any{"sections": 3}, nil
		},
	}
	ctx := context.Background()

	// The model calls the tool and claims that the call is confirmed.
	first, err := remove.Call(ctx, agentclient.ToolCall{Name: "deletePage", Arguments: json.RawMessage(`{"page":12,"confirmed":true}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Status, first.RequiresConfirmation.Summary)

	// The person replies in the chat. The program passes on their words, not the model.
	receipt, meant, err := remove.Reply(first.RequiresConfirmation.ID, "Yes, please!")
	fmt.Println(meant, err)

	// The model repeats the call with the receipt.
	second, err := remove.Call(ctx, agentclient.ToolCall{
		Name: "deletePage", Arguments: json.RawMessage(`{"page":12,"confirmed":true,"receipt":"` + receipt + `"}`),
	})
	fmt.Println(second.Status, second.Output, err)
	// Output:
	// unconfirmed Delete “About us” and its 3 sections?
	// yes <nil>
	// ran deleted <nil>
}

func ExampleParseReply() {
	for _, words := range []string{"Yes, go ahead!", "yes, but not the images", "No, wrong branch.", "👍", "hm"} {
		fmt.Println(agentclient.ParseReply(words))
	}
	// Output:
	// yes
	// unclear
	// no
	// yes
	// unclear
}
