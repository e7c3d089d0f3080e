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
		ruling := policy.Rule(call)
		switch ruling.Effect {
		case "", ThenAllow:
			return run(ctx, tool, call, Result[T]{})
		case ThenDeny:
			return Result[T]{
				Status: Denied, Reason: ruling.Reason,
				Guidance: "A policy forbids this call; nothing was run. Don't try it again in another way.",
			}, nil
		}
		d, asked, err := client.ask(ctx, question(call, ruling, details))
		result := Result[T]{Decision: &d, Reason: d.Reason, Comment: d.Comment, Guidance: d.Guidance}
		if err != nil || !d.Approved() {
			result.Status = ending(d)
			return result, err
		}
		if d.Edited {
			call.Arguments, result.Arguments = d.Arguments, d.Arguments
			result.Guidance = "A person approved this with other arguments than yours; it ran with theirs."
		}
		began := time.Now()
		result, err = run(ctx, tool, call, result)
		if result.Status == Ran {
			client.report(asked, executionOf(ctx, err, time.Since(began)))
		}
		return result, err
	}
}

// executionOf is what became of a call that a person approved.
func executionOf(ctx context.Context, err error, took time.Duration) schema.CallReport {
	r := schema.CallReport{State: schema.Succeeded, DurationMS: took.Milliseconds()}
	if err != nil {
		r.State, r.Error = schema.ToolFailed, err.Error()
		if ctx.Err() != nil {
			r.State = schema.Interrupted
		}
	}
	return r
}

// report tells the hub what became of an approved call, in the background: the agent
// has its result. Close waits for it.
func (c *Client) report(asked receipt, r schema.CallReport) {
	if asked.RequestSecret == "" { // nobody was asked, or a version 1 hub
		return
	}
	leave, err := c.enter()
	if err != nil {
		return
	}
	r.RequestSecret = asked.RequestSecret
	go func() {
		defer leave()
		ctx, cancel := context.WithTimeout(context.Background(), reportWithin)
		defer cancel()
		if body, err := json.Marshal(r); err == nil {
			_, _ = c.call(ctx, request{hub: asked.hub, path: schema.At(schema.PathExecution, asked.ID), body: body})
		}
	}()
}

// reportWithin bounds a report: it is for people to see, and nothing hangs on it.
const reportWithin = 2 * time.Second

// ending is what a decision without a yes means for its call.
func ending(d Decision) RunStatus {
	if d.Outcome == schema.Deny {
		return Denied
	}
	return Unanswered
}

// run runs a tool, unless nobody waits for it any more.
func run[T any](ctx context.Context, tool Tool[T], call ToolCall, result Result[T]) (Result[T], error) {
	if err := ctx.Err(); err != nil {
		result.Status = Unanswered
		return result, err
	}
	var err error
	result.Status = Ran
	result.Output, err = tool(ctx, call)
	return result, err
}

// question is the request for a call.
func question(call ToolCall, ruling PolicyResult, details []func(ToolCall, *Request)) Request {
	shown := &schema.ToolCall{Name: call.Name, ID: call.ID, Arguments: objectOf(call.Arguments)}
	shown.Editable = bytes.HasPrefix(bytes.TrimSpace(shown.Arguments), []byte("{"))
	r := Request{Question: fmt.Sprintf("Run %s?", call.Name), Kind: schema.Permission, Risk: ruling.Risk}
	if ruling.Reason != "" {
		r.Context = &schema.Context{Why: ruling.Reason}
	}
	r.Event.ToolName, r.Event.ToolUseID = call.Name, call.ID
	for _, change := range details {
		copied := call
		copied.Arguments = slices.Clone(call.Arguments)
		change(copied, &r)
	}
	r.Kind, r.ToolCall = schema.Permission, shown
	return r
}

// objectOf is the arguments as a card shows them: no arguments are an empty object.
func objectOf(arguments json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return arguments
}
