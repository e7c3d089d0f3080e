// Package agentclient lets a program ask a person, and wait for the answer.
//
// It talks to a Hookback hub: the program posts its question, a person answers in
// the hub's dashboard, and the hub dials back with the answer.
//
// # A first question
//
// Start a hub (go run ./server) and open its dashboard. Then:
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
// AskText asks for a text, AskChoice for one of some labels. All of them block
// until a person has answered, five minutes have passed, or ctx ends.
//
// # More to decide with
//
// Ask takes a Request. The more it says, the better a person can decide: what
// will run, how bad it can get, why it is needed. A tool call marked Editable may
// come back approved with other arguments, so run Decision.Arguments, never your
// own copy:
//
//	decision, err := client.Ask(ctx, agentclient.Request{
//		Question: "Run this migration on production?",
//		Risk:     schema.CriticalRisk,
//		Context:  &schema.Context{Why: "The release needs the new column.", Branch: "main"},
//		ToolCall: &schema.ToolCall{Name: "migrate", Arguments: args, Editable: true},
//		Timeout:  10 * time.Minute,
//	})
//
// # What can go wrong
//
// Nothing that goes wrong is ever a yes. Nobody answering is a Decision, not an
// error: its Outcome is schema.Timeout. Without a hub the Decision is a no after
// two seconds; Options.OnUnreachable turns that into an error (Fail) or, for
// permissions where a mistake costs nothing, into a yes (Allow). When ctx ends the
// question is withdrawn, its card disappears, and the error is ctx.Err().
//
// Errors of the hub are those of package schema, so errors.Is(err,
// schema.ErrInvalid) works across the network.
//
// # How the answer gets back
//
// While a question waits, the client listens on a loopback port of the system's
// choosing, at a path that only the hub is told: 128 random bits, another path for
// every question, so two questions never get each other's answer. A web page is
// refused (Origin), and so is whoever calls the port by another name (Host). The
// path is open before the question is posted. Before the hub sends anything, it
// has the listener prove that it is the one that asked.
//
// The answer is acknowledged when Ask hands it over, repeats are recognised for
// three seconds more, and one question gets one answer. Where the hub can't dial
// the program, the client fetches the answer over HTTP instead; it starts to try
// two seconds after the question was posted, or at once when the hub says that it
// won't dial. Both ways survive a restart of the hub.
//
// A server that only speaks version 1 of the protocol works too. It acknowledges
// nothing, knows no withdrawal and can't be asked for the answer.
//
// # A person before a tool
//
// Guard wraps a tool of an agent's. Where the policy asks, the call waits for a yes
// and then runs as it was shown, or as the person changed it; a no comes back as a
// result for the model, with the reason:
//
//	refund := agentclient.Guard(client,
//		agentclient.All(agentclient.Tools("refund"), agentclient.Above("amount", 10000)),
//		func(ctx context.Context, call agentclient.ToolCall) (Receipt, error) { … })
//
//	result, err := refund(ctx, agentclient.ToolCall{ID: "call_7", Name: "refund", Arguments: args})
//
// A policy is Tools, Above, Always, Never, any func(ToolCall) bool as a PolicyFunc,
// Any and All of them, or the rules of hookback.json (LoadPolicy), the same that
// coding agents' hooks go by:
//
//	{"rules": [
//		{"tool": "refund", "when": {"amount": {"greater": 10000}}, "then": "ask", "risk": "high"},
//		{"tool": "mcp__*__delete*", "then": "deny", "reason": "Nothing is deleted from here."}
//	]}
//
// The first rule that matches decides. Rules that ask or deny read a call generously:
// case doesn't matter, and what can't be judged (a text where a number is expected, a
// name twice) asks. Rules that allow read it strictly, and never allow a command with
// a shell's signs in it.
//
// # Two calls instead of a wait
//
// In a chat a tool may be called twice: the first call of a Confirm says what would
// happen, the second makes it happen. It takes the receipt of a person's yes, which
// comes from the hub (Confirm.Ask) or from their own words (Confirm.Reply). A bare
// "confirmed": true does nothing. ParseReply reads such words: nothing but a yes is a
// yes.
//
// # Telling, not asking
//
// Send stores one event, such as a tool call, in the hub's stream:
//
//	_, err := client.Send(ctx, schema.Event{
//		HookEventType: "PostToolUse",
//		ToolName:      "Bash",
//		Payload:       json.RawMessage(`{"command":"go test ./..."}`),
//	})
//
// # Where the hub is
//
// Options.Hubs, else HOOKBACK_URL, else http://127.0.0.1:4000. Several addresses
// are ways to the same hub, tried in order. HOOKBACK_SESSION names the session
// that questions and events belong to.
//
// A hub on another machine wants to know who asks: Options.Token, else HOOKBACK_TOKEN,
// is a token that its admin made for this agent. Its address is https:// then; a
// certificate of one's own authority is trusted through SSL_CERT_FILE.
//
// Whoever sets these variables steers where questions go and under which policy: an
// agent that may change the environment of its own hooks can point them at another
// hub. Only the harness's own settings can keep it from that.
package agentclient
