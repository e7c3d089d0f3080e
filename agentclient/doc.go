// Package agentclient lets a Go program ask people questions and wait for their answers.
//
// It talks to a Hookback hub. The program posts a question, a person answers it in the
// hub's dashboard, and the hub delivers the answer to the program.
//
// # First question
//
// Start a hub with "hookback up", which opens its dashboard. Then run:
//
//	client := agentclient.New(agentclient.Options{})
//	defer client.Close()
//
//	decision, err := client.AskPermission(ctx, "May I delete ./build?")
//	if err != nil {
//		return err
//	}
//	if !decision.Approved() {
//		return fmt.Errorf("not allowed: %s", decision.Reason)
//	}
//
// AskText asks for free text, AskChoice for one of several labels. Each call blocks until
// a person answers, five minutes pass, or ctx ends.
//
// # Context for the approver
//
// Ask takes a Request with details: the tool call that will run, its risk, and the reason
// for it. If ToolCall.Editable is set, the approver may change the arguments, so always
// run Decision.Arguments instead of the original:
//
//	decision, err := client.Ask(ctx, agentclient.Request{
//		Question: "Run this migration on production?",
//		Risk:     schema.CriticalRisk,
//		Context:  &schema.Context{Why: "The release needs the new column.", Branch: "main"},
//		ToolCall: &schema.ToolCall{Name: "migrate", Arguments: args, Editable: true},
//		Timeout:  10 * time.Minute,
//	})
//	if err == nil && decision.Approved() {
//		err = migrate(ctx, decision.Arguments)
//	}
//
// # Errors and timeouts
//
// The client fails closed: no error or timeout is ever an approval.
//
//   - If no one answers in time, Ask returns a Decision with Outcome schema.Timeout and a
//     nil error. With Request.FailRun it also returns ErrTimedOut.
//   - If no hub is reachable for two seconds, nothing is approved and Outcome is
//     Unreachable. For a permission the error is nil, and Decision.Reason has the
//     cause; for the other kinds the error is ErrUnreachable, because there is no text
//     or choice to return. OnUnreachable selects another outcome: Fail also returns the
//     error for permissions. Allow approves them; use it only if a wrong approval does
//     no harm.
//   - If ctx ends, Ask withdraws the question, which disappears from the dashboard, and
//     returns ctx.Err().
//   - If the hub rejects the question, the error is one of package schema. For example,
//     errors.Is(err, schema.ErrInvalid) works across the network.
//
// # Delivery of the answer
//
// While a question is pending, the client listens for the hub on a loopback port and
// accepts its answer over a WebSocket (push):
//
//   - Each question has its own path of 128 random bits, which is sent only to the hub.
//     Two questions therefore never get each other's answer.
//   - Requests from web pages (with an Origin header) and DNS rebinding (with a foreign
//     Host header) are rejected.
//   - Before the hub sends the answer, the listener must prove that it posted the
//     question: it answers an HMAC challenge with the key in the question.
//   - The client acknowledges the answer when Ask returns it, and deduplicates repeats for
//     three more seconds. One question gets one answer.
//
// If the hub can't connect to the program, for example because one of them runs in a
// container, the client fetches the answer with HTTP long polls (pull). It starts two
// seconds after it posted the question, or immediately if the hub reports that it won't
// connect. Push and pull both survive a restart of the hub.
//
// Servers that only support version 1 of the protocol work too, without
// acknowledgments, withdrawal and pull.
//
// # The trusted hub
//
// An account trusts hub keys, its pins; see Trust and LoadTrust. With a pin, an answer
// counts only if a pinned key signed it for the SHA-256 of exactly this question, and every
// value of the Decision comes from the signed statement. Anything else has the outcome Malformed
// and a Reason, and no OnUnreachable setting approves it. Decision.Signed reports the check.
//
// Without a pin, the first question to an address from Options.Hubs or to the default
// pins the hub's key for as long as the client lives. The library reads the account's
// pins and never writes them: the hookback commands do, for example hookback trust URL,
// and programs with Options.RememberHubs. An address from HOOKBACK_URL pins nothing: the
// answer then counts unsigned. Options.HubKeys sets the keys in code. Options.Unsigned
// accepts a version 1 server.
//
// # Guarded tools
//
// Guard wraps a tool of your agent with an approval step. If the policy requires it, each
// call waits for a person and then runs with the arguments that they approved. A denial is
// returned as a result for the model, with the reason:
//
//	refund := agentclient.Guard(client,
//		policy.All(policy.Tools("refund"), policy.Above("amount", 10000)),
//		func(ctx context.Context, call agentclient.ToolCall) (Receipt, error) { … })
//
//	result, err := refund(ctx, agentclient.ToolCall{ID: "call_7", Name: "refund", Arguments: args})
//
// Functions after the tool add details for the approver. They get the call and the request,
// for example to allow the approver to change the arguments:
//
//	func(call agentclient.ToolCall, r *agentclient.Request) {
//		r.Risk, r.ToolCall.Editable = schema.HighRisk, true
//	}
//
// result.Status is Ran, Denied or Unanswered; result.Guidance tells the model what to do
// next.
//
// # Policies
//
// A policy decides which calls need approval: package policy has policies in Go and reads the
// rules of hookback.json, which the hooks of coding agents use as well. RequireApproval, ByRole
// and Approvals make policies from the settings of an agent.
//
// # Confirmation in a chat
//
// If your agent chats with a person anyway, use Confirm. Its tool takes two calls: the
// first describes the effect, the second runs it. The second call needs a receipt of
// the person's approval, issued by Confirm.Ask (in the hub) or Confirm.Reply (from the
// person's chat message). A model can't confirm for the person: "confirmed": true has
// no effect. ParseReply classifies chat messages, and only treats clear agreement as
// yes. The text for the model's prompt:
//
//	deletePage needs a person's confirmation. First call it without a receipt. Nothing is
//	deleted: you get a summary of the effect. Show the user the summary and wait for their
//	answer. If the program then gives you a receipt, call deletePage again with the same
//	arguments and the receipt. Never answer for the user.
//
// # Events
//
// Send stores an event, such as a tool call, without asking anyone. It appears in the
// hub's event stream:
//
//	_, err := client.Send(ctx, schema.Event{
//		HookEventType: "PostToolUse",
//		ToolName:      "Bash",
//		Payload:       json.RawMessage(`{"command":"go test ./..."}`),
//	})
//
// Sessions and Ledger read the sessions of the hub and its audit log page by page.
//
// # Tests
//
// Package hubtest runs a real hub in a test of your program, with a database of its own.
// Its options use nothing of your account, such as the hubs that it trusts:
//
//	hub := hubtest.Start(t)
//	client := agentclient.New(hub.Options())
//	go hub.Answer(ctx, schema.Response{Permission: new(true)})
//
// The first go test -race builds the hub and its database engine, which is C translated to Go. With
// these flags, it took less than 2 minutes on two cores. They leave out go vet, the optimizer, debug data,
// and the race detector in the database engine:
//
//	go test -race -vet=off -gcflags='all=-N -l -dwarf=false' -gcflags='modernc.org/...=-race=false -N -l -dwarf=false' ./...
//
// # Configuration
//
// The hub's address is Options.Hubs, else HOOKBACK_URL, else http://127.0.0.1:4000.
// Several addresses must belong to the same hub; they are tried in order. HOOKBACK_SESSION
// sets the session of questions and events.
//
// A hub on another machine requires a token: set Options.Token, else HOOKBACK_TOKEN, to a
// token that an admin created for this agent, and use an https:// address. To trust the
// certificate of a private CA, set SSL_CERT_FILE.
//
// HOOKBACK_URL decides which hub gets the questions. If a hub is pinned, it does not decide
// whose answers count, and HOOKBACK_TOKEN is sent only to pinned addresses. Without a pin, an
// answer from there counts unsigned, and any address gets the token, unless it names its own
// (TOKEN@https://hub.example).
package agentclient
