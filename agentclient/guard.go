package agentclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
)

// Tool runs one call.
type Tool[T any] func(ctx context.Context, call ToolCall) (T, error)

// RunStatus says what became of a call.
type RunStatus string

// What can become of a call.
const (
	// Ran: the tool was run, once. Its own error, if any, came back beside the Result.
	Ran RunStatus = "ran"
	// Denied: a person or the policy said no. It was not run.
	Denied RunStatus = "denied"
	// Unanswered: nobody said yes or no. It was not run.
	Unanswered RunStatus = "unanswered"
	// Unconfirmed: a person's yes is needed first; see Confirm. It was not run yet.
	Unconfirmed RunStatus = "unconfirmed"
)

// Result is what became of a call. As JSON it is made for a model.
type Result[T any] struct {
	Status RunStatus `json:"status"`
	Output T         `json:"output,omitzero"`
	// Reason is the person's, or the policy's.
	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Guidance is one sentence for the model: what this means.
	Guidance string `json:"guidance,omitempty"`
	// Arguments are what the tool ran with, where a person changed them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// RequiresConfirmation is what a person has to confirm; nil unless Unconfirmed.
	RequiresConfirmation *Confirmation `json:"requiresConfirmation,omitempty"`

	// Decision is the person's; nil where nobody was asked.
	Decision *Decision `json:"-"`
}

// Guard puts a person before a tool. Where the policy asks, the call waits for a
// person's yes and then runs exactly as it was: with its id and its arguments, or
// with the arguments as the person changed them. Where the policy allows or has no
// opinion, it runs at once; where it denies, it doesn't.
//
// A no is a Result, not an error, for the model to read; so is nobody answering, and
// no hub. An error is the tool's own, with Status Ran, or says why nobody could be
// asked (see Client.Ask); the tool was not run then. Each call of the function that
// Guard returns runs the tool at most once. It may be called from many goroutines. What
// became of a call that a person approved is told to the hub, for its card.
//
// details, where given, fill in what else a person should see on the card: they get
// the call and the request as it would be asked, and may change everything in the
// request but its tool call.
func Guard[T any](client *Client, policy Policy, tool Tool[T], details ...func(ToolCall, *Request)) Tool[Result[T]] {
	return func(ctx context.Context, call ToolCall) (Result[T], error) {
		call.Arguments = slices.Clone(call.Arguments) // what is shown is what runs
		policyResult := policy.Rule(call)
		switch policyResult.Effect {
		case "", ThenAllow:
			return runTool(ctx, tool, call, Result[T]{})
		case ThenDeny:
			return Result[T]{
				Status: Denied, Reason: policyResult.Reason,
				Guidance: "A policy forbids this call; nothing was run. Don't try it again in another way.",
			}, nil
		}
		d, receipt, err := client.askWithReceipt(ctx, questionFor(call, policyResult, details))
		result := Result[T]{Decision: &d, Reason: d.Reason, Comment: d.Comment, Guidance: d.Guidance}
		if err != nil || !d.Approved() {
			result.Status = statusOf(d)
			return result, err
		}
		if d.Edited {
			call.Arguments, result.Arguments = d.Arguments, d.Arguments
			result.Guidance = "A person approved this with other arguments than yours; it ran with theirs."
		}
		started := time.Now()
		result, err = runTool(ctx, tool, call, result)
		if result.Status == Ran {
			client.reportExecution(receipt, callReport(ctx, err, time.Since(started)))
		}
		return result, err
	}
}

// callReport is what became of a call that a person approved.
func callReport(ctx context.Context, err error, took time.Duration) schema.CallReport {
	report := schema.CallReport{State: schema.Succeeded, DurationMS: took.Milliseconds()}
	if err != nil {
		report.State, report.Error = schema.ToolFailed, err.Error()
		if ctx.Err() != nil {
			report.State = schema.Interrupted
		}
	}
	return report
}

// reportExecution tells the hub what became of an approved call, in the background: the agent
// has its result. Close waits for it.
func (c *Client) reportExecution(receipt eventReceipt, report schema.CallReport) {
	if receipt.RequestSecret == "" { // nobody was asked, or a version 1 hub
		return
	}
	endCall, err := c.beginCall()
	if err != nil {
		return
	}
	report.RequestSecret = receipt.RequestSecret
	go func() {
		defer endCall()
		ctx, cancel := context.WithTimeout(context.Background(), reportTimeout)
		defer cancel()
		if body, err := json.Marshal(report); err == nil {
			_, _ = c.sendRequest(ctx, request{hub: receipt.hub, path: schema.At(schema.PathExecution, receipt.ID), body: body})
		}
	}()
}

// reportTimeout bounds a report: it is for people to see, and nothing hangs on it.
const reportTimeout = 2 * time.Second

// statusOf is what a decision without a yes means for its call.
func statusOf(d Decision) RunStatus {
	if d.Outcome == schema.Deny {
		return Denied
	}
	return Unanswered
}

// runTool runs a tool, unless nobody waits for it any more.
func runTool[T any](ctx context.Context, tool Tool[T], call ToolCall, result Result[T]) (Result[T], error) {
	if err := ctx.Err(); err != nil {
		result.Status = Unanswered
		return result, err
	}
	var err error
	result.Status = Ran
	result.Output, err = tool(ctx, call)
	return result, err
}

// questionFor is the request for a call.
func questionFor(call ToolCall, policyResult PolicyResult, details []func(ToolCall, *Request)) Request {
	shown := &schema.ToolCall{Name: call.Name, ID: call.ID, Arguments: argumentsOrEmpty(call.Arguments)}
	shown.Editable = bytes.HasPrefix(bytes.TrimSpace(shown.Arguments), []byte("{"))
	r := Request{Question: fmt.Sprintf("Run %s?", call.Name), Kind: schema.Permission, Risk: policyResult.Risk}
	if policyResult.Reason != "" {
		r.Context = &schema.Context{Why: policyResult.Reason}
	}
	r.Event.ToolName, r.Event.ToolUseID = call.Name, call.ID
	for _, detail := range details {
		copied := call
		copied.Arguments = slices.Clone(call.Arguments)
		detail(copied, &r)
	}
	r.Kind, r.ToolCall = schema.Permission, shown
	return r
}

// argumentsOrEmpty is the arguments as a card shows them: no arguments are an empty object.
func argumentsOrEmpty(arguments json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return arguments
}
