package adk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
)

// Executor runs one tool call for each A2A task. While a person has to approve the call, the task
// requires input and shows the call. A message with {"decision_type": "approve" or "deny"} answers
// the question in the hub; any other message waits for the answer of someone else there.
type Executor struct {
	Client *agentclient.Client
	Hub    string // address of the hub that Client uses
	Token  string // of the person who decides by A2A; empty: someone at this computer
	Policy policy.Policy
	Tool   agentclient.Tool[map[string]any]
	// Call returns the call that the first message of a task leads to.
	Call func(*a2a.Message) agentclient.ToolCall

	mu    sync.Mutex
	tasks map[a2a.TaskID]*task
}

// task is a call in progress.
type task struct {
	call    agentclient.ToolCall
	waiting chan schema.EventID // the question, once a hub has stored it
	done    chan struct{}       // closed when the call has ended
	id      schema.EventID
	result  agentclient.Result[map[string]any]
	err     error
}

var errNoTask = errors.New("no call of this task waits; it has ended, or the agent was restarted")

// Execute implements a2asrv.AgentExecutor.
func (e *Executor) Execute(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	t, err := e.taskFor(ctx, r)
	if err == nil && r.StoredTask == nil {
		err = queue.Write(ctx, a2a.NewSubmittedTask(r, r.Message))
	} else if decision := decisionIn(r.Message); err == nil && decision != nil {
		err = e.respond(ctx, t, decision)
	}
	if err != nil {
		return e.finish(ctx, r, queue, a2a.TaskStateFailed, a2a.TextPart{Text: err.Error()})
	}
	select {
	case t.id = <-t.waiting:
		return e.finish(ctx, r, queue, a2a.TaskStateInputRequired, confirmationPart(t))
	case <-t.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	e.mu.Lock()
	delete(e.tasks, r.TaskID)
	e.mu.Unlock()
	if t.err != nil {
		return e.finish(ctx, r, queue, a2a.TaskStateFailed, a2a.TextPart{Text: t.err.Error()})
	}
	response := t.result.Output
	if t.result.Status != agentclient.Ran {
		if response, err = asMap(t.result.Confirmation()); err != nil {
			return err
		}
	}
	return e.finish(ctx, r, queue, a2a.TaskStateCompleted, a2a.DataPart{
		Data:     map[string]any{"name": t.call.Name, "id": t.call.ID, "response": response},
		Metadata: map[string]any{"type": "function_response"},
	})
}

// Cancel implements a2asrv.AgentExecutor.
func (e *Executor) Cancel(ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue) error {
	if t, err := e.taskFor(ctx, r); err == nil && t.id != 0 {
		_ = e.respond(ctx, t, map[string]any{"decision_type": "deny", "reason": "The task was canceled."})
	}
	return e.finish(ctx, r, queue, a2a.TaskStateCanceled)
}

// taskFor returns the call of a task. The first message starts it.
func (e *Executor) taskFor(ctx context.Context, r *a2asrv.RequestContext) (*task, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tasks[r.TaskID]; t != nil {
		return t, nil
	}
	if r.StoredTask != nil {
		return nil, errNoTask
	}
	t := &task{call: e.Call(r.Message), waiting: make(chan schema.EventID, 1), done: make(chan struct{})}
	guarded := agentclient.Guard(e.Client, e.Policy, e.Tool, func(_ agentclient.ToolCall, q *agentclient.Request) {
		q.Event.SessionID = r.ContextID
		q.OnWaiting = func(w agentclient.WaitStatus) { t.waiting <- w.EventID }
	})
	go func() { // outlives this message
		defer close(t.done)
		t.result, t.err = guarded(context.WithoutCancel(ctx), t.call)
	}()
	if e.tasks == nil {
		e.tasks = map[a2a.TaskID]*task{}
	}
	e.tasks[r.TaskID] = t
	return t, nil
}

// respond answers the task's question in the hub.
func (e *Executor) respond(ctx context.Context, t *task, decision map[string]any) error {
	body, err := json.Marshal(map[string]any{
		"approvalId": t.id.String(), "decision_type": decision["decision_type"], "reason": decision["reason"],
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Hub+inbox.PathAgentApprove, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Token != "" {
		req.Header.Set("Authorization", "Bearer "+e.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the hub refused the decision: %s", res.Status)
	}
	return nil
}

// finish writes the state in which this message leaves the task.
func (e *Executor) finish(
	ctx context.Context, r *a2asrv.RequestContext, queue eventqueue.Queue, state a2a.TaskState, parts ...a2a.Part,
) error {
	var message *a2a.Message
	if len(parts) > 0 {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, r, parts...)
	}
	event := a2a.NewStatusUpdateEvent(r, state, message)
	event.Final = true
	return queue.Write(ctx, event)
}

// confirmationPart shows a pending call in the form of the Agent Development Kit.
func confirmationPart(t *task) a2a.DataPart {
	var arguments map[string]any
	_ = json.Unmarshal(t.call.Arguments, &arguments) // the hub has checked them
	return a2a.DataPart{
		Data: map[string]any{
			"name": "adk_request_confirmation", "id": t.id.String(),
			"args": map[string]any{"originalFunctionCall": map[string]any{"name": t.call.Name, "id": t.call.ID, "args": arguments}},
		},
		Metadata: map[string]any{"type": "function_call", "is_long_running": true},
	}
}

// decisionIn returns the part of a message with a decision.
func decisionIn(m *a2a.Message) map[string]any {
	for _, part := range m.Parts {
		switch part := part.(type) {
		case a2a.DataPart:
			if part.Data["decision_type"] != nil {
				return part.Data
			}
		case *a2a.DataPart:
			if part.Data["decision_type"] != nil {
				return part.Data
			}
		}
	}
	return nil
}
