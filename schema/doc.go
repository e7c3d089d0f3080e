// Package schema defines the protocol of Hookback: the messages between agents, the hub and its
// dashboard, their validation and their errors. It imports only the standard library, so any
// program can use it.
//
// BEHAVIOURS.md compares Hookback with the five systems that inspired it and names the test for
// each behavior.
//
// # Messages
//
// The hook of an agent reports everything that the agent does:
//
//	agent → hub    POST /events              Event                → 200 Event, stored and fsynced
//
// An event with humanInTheLoop asks a question. The agent first opens its own WebSocket listener,
// puts the address in responseWebSocketUrl, and waits:
//
//	agent → hub    POST /events              Event{HumanInTheLoop} → 200 Event{pending, requestSecret, watching}
//	hub → page     WS /stream                Frame{event}
//	page → hub     POST /events/:id/respond  Response             → 200 Event{responded}
//	page → hub     POST /events/:id/undo                          (holdMs only)
//	hub → agent    WS responseWebSocketUrl   Answer               ← Ack (version 2)
//	hub → page     WS /stream                Frame{event} (version 1), Frame{status} (version 2)
//
// The hub never calls back before it has answered the POST, so an agent that blocks in the POST
// can't deadlock. watching in the response is the number of open streams at that moment. If it is
// 0, an agent with its own prompt may use that instead.
//
// # Delivery
//
// A version 1 listener reads one message and closes the connection. The close is the only sign that
// the answer arrived.
//
// A version 2 listener (protocolVersion 2) acknowledges the answer with an Ack once its caller has
// it, and drops duplicates. If the question has a listenerKey, the listener first proves that it is
// the one that asked. The hub's WebSocket handshake carries random text in the header
// Hookback-Challenge. The 101 response must carry the header Hookback-Proof with base64url, without
// padding, of HMAC-SHA256 over that text with the bytes of listenerKey as the key (see
// ListenerProof). Without the right proof the hub closes the connection and sends nothing. A version
// 2 question without a listenerKey proves nothing: any program that listens at the address gets the
// answer.
//
// While a question is pending, the hub may probe the liveness of a version 2 listener: it connects
// and closes the connection without sending anything. If the question has lifeline set, the hub
// keeps a connection open for as long as the listener accepts it. When that listener disconnects,
// the question is resolved within moments as cancelled, source orphaned.
//
// An agent that can't be called back fetches the same answer by long polling:
//
//	agent → hub    GET /events/:id/response?wait=25   → 200 Answer, or 204 not yet
//
// With the header Hookback-Request-Secret the delivery is pulled: the agent has its answer. Without it
// the delivery of a question that named no listener is fetched, which proves nothing. An agent that does
// not accept what it pulled sends the result of an Ack in the parameter rejected.
//
// # Repeated requests
//
// An agent that got no response repeats the POST with the same idempotency_key. The same body, byte
// for byte, gets the first event and its answer. An agent that kept its requestSecret and asks the
// same question (see sign.AskDigest) with another listener gets them, too, and the answer goes to the new
// listener. Anything else with the key of a question, and a question with the key of a plain event,
// is rejected with 409 (key_conflict); nothing is stored or returned. A repeated plain event is the
// first event, whatever it contains.
//
// A client that chooses its requestSecret sends 32 to 128 random printable characters. The hub
// stores the hash and never returns the secret. Otherwise the hub makes one and returns it with the
// first response, and with a repeat of the same body. The secret withdraws the question, fetches its
// answer (header Hookback-Request-Secret) and reports the outcome of the call.
//
// # Signed answers
//
// The hub has an Ed25519 key, which GET /api/hub shows. It signs every resolution once. A version 2
// question with a nonce gets the signature with its answer, in the member seal of the callback and of
// a GET /events/:id/response that carries the request secret. A frame with a seal has at most 640
// KiB, other frames 256 KiB. All other clients get the same bytes as without signatures.
//
// The seal is a DSSE envelope (see Envelope) around an in-toto statement (see sign.Statement). An agent
// verifies it in this order:
//
//  1. The envelope has the payload type application/vnd.in-toto+json, and one of its signatures
//     verifies with the hub's key that the agent trusts. An unknown key may be the successor of a
//     trusted one: see sign.FollowRotations.
//  2. The digest sha256 of the subject ask is the digest of the bytes that the agent posted (see
//     sign.AskParts.Digest).
//  3. The agent takes the answer from the statement's predicate and ignores the other members.
//
// An answer that fails a step is no answer: the agent must not go ahead. The files in testdata/seal
// are test vectors for the digest, the envelope and the listener proof.
//
// GET /events/:id/receipt returns the envelope of any ended question with the evidence behind it
// (see sign.Receipt). The statement has digests of the question's text as people saw it, after
// redaction, of the call and of the commit (context.commit), which people see whole.
//
// # Resolution
//
// A question is a state machine. It is pending until it has exactly one resolution: answered
// (responded), timed out (timeout), or cancelled by a person or withdrawn by the agent (error). The
// first resolution that is committed wins. Later ones are rejected with 409 (decided) or 410
// (expired) and the current status. A missing answer is never an approval: a permission that timed
// out is delivered as permission false with the outcome __timeout__.
//
// A question from the hook of a coding agent (see Event.Agent) is also cancelled, source agent, if
// the agent continues without it: a later event of the same session shows that it was answered in
// the agent's own prompt, or that its turn is over.
//
// The sample listener of version 1 matches an answer by payload.permission_type. A new version 1
// question therefore ends the older pending one with the same callback address, source_app,
// session_id and permission_type as cancelled, source superseded. Nothing is sent for it, because
// the agent would take it for the answer to the new question. Status.SupersededBy names that one.
// Questions of two listeners stay apart.
//
// An answer with holdMs has an undo window of that length. Until it ends, the question stays
// pending with held in its status, the agent receives nothing and version 1 streams see nothing.
// Other answers are rejected (409, held). A cancellation, a withdrawal and the end of the session
// are accepted, and drop the held answer. The window ends at the latest one second before the
// question's deadline.
//
// # Votes and quorum
//
// A question with requiredApprovals above 1, or with recipients other than anyone, is addressed to
// certain people. They are resolved when the question is created and listed in Status.Recipients. A
// person whose own token sent the question is excluded, unless excludeRequester is false. A
// question whose recipients can't reach the quorum is rejected with 400.
//
// Recipients vote with POST /events/:id/respond. They can add a comment, and can change their vote
// while the question is pending. The first choice with requiredApprovals votes wins, source quorum.
// If all recipients have voted and no choice has won, the outcome is __no_quorum__. It is also
// __no_quorum__, with a reason, as soon as the votes of the leading choice and the recipients who
// can still vote are fewer than requiredApprovals, because people were removed or disagree, unless
// an escalation is still due. The votes of a question that times out or is cancelled have no
// effect. For every resolution the Answer lists the votes and the recipients who did not vote.
//
// A voter can edit the tool call with modifiedArguments. The question is then about a different
// call (Status.Edited): earlier votes are dropped, the voter's own vote counts, and every later
// vote must name a revision (409, stale). The winning approval carries the edited arguments. Only
// recipients can decide such a question, not other people, rules or bulk approvals. With
// requiredApprovals 1 the first vote of a recipient decides.
//
// With recipients.owners a question goes to the owners of its files (Context.Owners) among the people who would be asked
// without it. Only they decide then; everyone else is rejected with 403 (not_allowed), and the hint has their names. If
// the agent named none, none has an account that may answer, or fewer than requiredApprovals have one, all of those people
// are asked, and Status.Owners has the reason. If so many owners have quiet hours that the others can't decide, and the
// risk is not critical, everyone else may answer from Status.Owners.fallbackAt on: half of the timeout, or 10 minutes
// without a deadline. Owners are a statement of the agent's machine. So they lessen who may answer, and add no one.
//
// # Ledger
//
// The ledger is the audit log. Every vote, edit and resolution, and every change that people make
// to people, rules and channels, is a sign.LedgerEntry. It is written in the same transaction as the
// change and never removed. The entries form a hash chain.
//
// # Time
//
// The hub's clock decides the deadline: time of receipt plus timeout. The default timeout is 300 s,
// and 0 means no deadline. A person can extend or remove the deadline (POST /events/:id/extend).
// The hub then sends a Control to a version 2 listener, on a separate connection after the same
// proof. The listener does not acknowledge it and may ignore it. A long poll reports the deadline
// in the header Hookback-Expires-In of its 204, in seconds or never, and returns early when the
// deadline changes. For a question with a version 1 listener an extension is rejected with 422,
// because such a listener can't receive it.
//
// Reminders are sent every reminderIntervalSeconds (at least 30), reminderMaxCount times (at most
// 20). They require a finite timeout and a recipient who has not voted. A question with
// requiresResponse false has none.
//
// The question escalates once, escalateAfterSeconds after its creation: it is then addressed to
// escalateTo as well, and the quorum stays the same. With onTimeout fail_run, the agent's run must
// end with an error if no one answers in time. agentclient returns one.
//
// An agent without hooks reports the outcome of an approved call with POST /events/:id/execution
// and the request secret.
//
// # Names and numbers
//
// Members are snake_case at the top level of an event, and camelCase inside humanInTheLoop,
// humanInTheLoopStatus, answers and stream messages. humanInTheLoop and Response also accept
// snake_case. Times are Unix milliseconds, durations are seconds. null means absent. Unknown
// members of an event or a question are kept and echoed.
//
// No member is ignored that would restrict an answer. A question or an answer with a member of
// another protocol that this one does not apply (allowedDecisions, vetoChoices, items, supersedes,
// form, halt, recipientDistribution, timeoutSeconds), or with a misspelled member, is rejected, and
// Problem.Field names it. Other bodies that decide something reject every unknown member. An unknown
// query parameter is rejected with 400.
//
// Errors are Problem documents (RFC 9457). Their codes map to the Err values of this package in
// both directions.
//
// Version 1 is the protocol of the "Human-in-the-Loop (HITL) - Agent Integration Guide", version
// 1.0 of 2025-10-14. Every example in that guide is a golden message in testdata. Version 2 only
// adds to version 1.
package schema
