package agentclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// ToolCall is a call that is about to run, the input of policies and tools.
type ToolCall = policy.Call

// Tool runs one tool call.
type Tool[T any] func(ctx context.Context, call ToolCall) (T, error)

// RunStatus is the outcome of a guarded or confirmed call.
type RunStatus string

// Outcomes of a call.
const (
	// Ran: the tool was run once. Its error, if any, is returned with the Result.
	Ran RunStatus = "ran"
	// Denied: a person or the policy denied the call. It was not run.
	Denied RunStatus = "denied"
	// Unanswered: the question ended without an answer. The call was not run.
	Unanswered RunStatus = "unanswered"
	// Unconfirmed: a person must confirm the call first, see Confirm. It was not run.
	Unconfirmed RunStatus = "unconfirmed"
)

// Result is the outcome of a call. Its JSON form is meant for a model.
type Result[T any] struct {
	Status RunStatus `json:"status"`
	Output T         `json:"output,omitzero"`
	// Reason is the reason of the person or the policy.
	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Guidance states for the model what happened and what to do next.
	Guidance string `json:"guidance,omitempty"`
	// Arguments are the arguments that the tool ran with, if a person changed them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// RequiresConfirmation describes the call to confirm. It is nil unless Unconfirmed.
	RequiresConfirmation *Confirmation `json:"requiresConfirmation,omitempty"`

	// Decision is the person's decision, or nil if no one was asked.
	Decision *Decision `json:"-"`
}

// Guard wraps a tool with an approval step. If the policy asks, the call waits for a
// person's approval and then runs with its id and arguments, or with the arguments as
// the person edited them. If the policy allows or has no opinion, the call runs
// immediately. If the policy denies, the call does not run.
//
// A denial, a missing answer and a missing hub are Results for the model, not errors. An
// error with Status Ran is that of the tool. With any other Status the question failed
// (see Client.Ask) and the tool was not run.
//
// The returned Tool is safe for concurrent use and runs the wrapped tool at most once
// per call. It reports the outcome of an approved call to the hub, which shows it with
// the request.
//
// Each function in details may add information for the approver. It gets the call and
// the request, and may change everything in the request. Only Editable of its ToolCall
// counts: set it to let the approver change the arguments, if they are a JSON object. By
// default they can't be changed, as in POST /events.
func Guard[T any](client *Client, p policy.Policy, tool Tool[T], details ...func(ToolCall, *Request)) Tool[Result[T]] {
	return func(ctx context.Context, call ToolCall) (Result[T], error) {
		call.Arguments = slices.Clone(call.Arguments) // run the arguments that the person is shown, even if the caller changes its slice
		policyResult := p.Evaluate(call)
		switch policyResult.Effect {
		case "", policy.Allow:
			return runTool(ctx, tool, call, Result[T]{})
		case policy.Deny:
			return Result[T]{
				Status: Denied, Reason: policyResult.Reason,
				Guidance: "A policy denies this call. Nothing was run. Do not try to achieve the same result another way.",
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
			result.Guidance = "A person approved this with changed arguments. It ran with the changed arguments, not with yours."
		}
		client.reportExecution(receipt, schema.CallReport{State: schema.Executing})
		started := time.Now()
		result, err = runTool(ctx, tool, call, result)
		if result.Status == Ran {
			client.reportExecution(receipt, callReport(ctx, err, time.Since(started)))
		}
		return result, err
	}
}

// callReport returns the execution report of an approved call.
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

// reportExecution sends the outcome of an approved call to the hub in the background,
// so that the agent gets its result without delay. Close waits for it.
func (c *Client) reportExecution(receipt eventReceipt, report schema.CallReport) {
	if receipt.RequestSecret == "" { // no one was asked, or by a version 1 hub
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
			_, _ = c.sendRequest(ctx, transport.Request{Hub: receipt.hub, Path: schema.At(schema.PathExecution, receipt.ID), Body: body})
		}
	}()
}

// reportTimeout limits a report. Nothing depends on its delivery.
const reportTimeout = 2 * time.Second

// statusOf returns the status of a call that was not approved.
func statusOf(d Decision) RunStatus {
	if d.Outcome == schema.Deny {
		return Denied
	}
	return Unanswered
}

// runTool runs a tool unless ctx has ended.
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

// questionFor returns the request that asks about a call.
func questionFor(call ToolCall, policyResult policy.Result, details []func(ToolCall, *Request)) Request {
	shown := schema.ToolCall{Name: call.Name, ID: call.ID, Arguments: argumentsOrEmpty(call.Arguments)}
	proposed := shown
	proposed.Arguments = slices.Clone(shown.Arguments)
	r := Request{Question: fmt.Sprintf("Run %s?", call.Name), Kind: schema.Permission, Risk: schema.Risk(policyResult.Risk), ToolCall: &proposed}
	if policyResult.Owners {
		r.Recipients = &schema.Recipients{Owners: true}
	}
	r.RequiredApprovals = policyResult.Quorum
	if policyResult.Reason != "" {
		r.Context = &schema.Context{Why: policyResult.Reason}
	}
	r.Event.ToolName, r.Event.ToolUseID = call.Name, call.ID
	for _, detail := range details {
		copied := call
		copied.Arguments = slices.Clone(call.Arguments)
		detail(copied, &r)
	}
	isObject := bytes.HasPrefix(bytes.TrimSpace(shown.Arguments), []byte("{"))
	shown.Editable = r.ToolCall != nil && r.ToolCall.Editable && isObject
	r.Kind, r.ToolCall = schema.Permission, &shown // the tool runs the call as it was made
	r.Event.Extra = maps.Clone(r.Event.Extra)
	if r.Event.Extra == nil {
		r.Event.Extra = map[string]json.RawMessage{}
	}
	r.Event.Extra[control.HookMember] = json.RawMessage(`{"verdict":"ask","by":"policy"}`) // no allowance of the hub answers it
	return r
}
