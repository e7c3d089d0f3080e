// Package schema is the contract of Hookback: the messages between agents, the
// hub and its dashboard, their checks and their errors. It imports the standard
// library only, so that anyone can.
//
// BEHAVIOURS.md lists what the five systems do that this one takes after, where it
// works here and which test proves it.
//
// # Who says what to whom
//
// An agent's hook tells the hub of everything it does:
//
//	agent → hub    POST /events              Event                → 200 Event, stored and fsynced
//
// An event with humanInTheLoop asks a person. The agent opens a WebSocket
// listener of its own first, says where in responseWebSocketUrl, and waits:
//
//	agent → hub    POST /events              Event{HumanInTheLoop} → 200 Event{pending, requestSecret, watching}
//	hub → page     WS /stream                Frame{event}
//	page → hub     POST /events/:id/respond  Response             → 200 Event{responded}
//	page → hub     POST /events/:id/undo                          (holdMs only)
//	hub → agent    WS responseWebSocketUrl   Answer               ← Ack (version 2)
//	hub → page     WS /stream                Frame{event} (version 1), Frame{status} (version 2)
//
// The hub never dials before it has answered the POST, so an agent that blocks in
// it is safe. A version 1 listener reads one message and closes; that close is
// the only sign that the answer arrived. A version 2 listener (protocolVersion 2)
// names the answer in an Ack once its caller has it, and drops repeats; given a
// listenerKey it first proves in the handshake that it is the one that asked.
// While its question is pending the hub may open a connection to a version 2
// listener and close it again without a word, to see whether anyone still waits. One
// whose question has a lifeline is kept a connection to, as long as it takes it: the
// question ends as cancelled, source orphaned, within moments of the listener's end.
//
// watching in the 200 is how many streams followed the hub at that moment. An agent
// with another way to ask may take it when there are none.
//
// An agent that can't be dialled pulls the same answer:
//
//	agent → hub    GET /events/:id/response?wait=25   → 200 Answer, or 204 not yet
//
// # How a question ends
//
// A question is pending until it has exactly one end: answered (responded), timed
// out (timeout), cancelled by a person or withdrawn by the agent (error). The first
// one that is committed wins; later ones are refused with 409 (decided) or 410
// (expired) and the status as it is. Nobody answering is never a yes: a
// permission that timed out is delivered as permission false with the outcome
// __timeout__.
//
// A question of a coding agent's hook (Event.Agent) is also cancelled, source agent,
// by what the agent does next: a later event of the same session shows that it was
// answered in the agent's own prompt, or that its turn is over.
//
// An answer with holdMs can be undone for that long: the question stays pending
// with held in its status, the agent hears nothing and version 1 streams see
// nothing. No other answer is taken meanwhile (409, held); a cancellation, a
// withdrawal and the end of the session are, and drop it. It counts at the latest a
// second before the question's deadline.
//
// # Several people
//
// requiredApprovals above 1, or recipients other than anyone, put a question to certain
// people: Status.Recipients, as they are when it is asked, without whoever's own token
// asked it (unless excludeRequester is false). What they could never decide is refused
// with 400. They vote by POST /events/:id/respond, and may vote anew while the question
// is pending; a comment goes with each vote. The first choice with requiredApprovals
// votes wins, source quorum; when all have voted and none has, the outcome is
// __no_quorum__. Votes of a question that times out or is cancelled decide nothing.
// Whatever its end, the Answer has the votes and who had not voted.
//
// modifiedArguments of a voter make the question one about another call (Status.Edited):
// the votes so far are gone, the voter's own counts, and every later vote must carry a
// revision from then on (409, stale). The winning yes carries those arguments. Nobody
// else's answer, no rule and no list of approvals decides such a question; with
// requiredApprovals 1 the first of its recipients does.
//
// # The ledger
//
// Every vote, edit and end, and what people change of people, rules and channels, is an
// entry of the ledger (LedgerEntry), written with what it tells, and never removed.
//
// # Time
//
// The deadline is the hub's: received plus timeout, 300 s unless told, none with 0. A
// person can move it back, or take it away (POST /events/:id/extend). The hub then
// tells a version 2 listener so on a connection of its own, after the same proof: a
// Control, which is not acknowledged and which a listener without use for it passes
// over. A pull says the same in Hookback-Expires-In, seconds or never, with its 204,
// and returns early when the deadline moves. A version 1 listener can't be told: 422.
//
// Reminders (every reminderIntervalSeconds, at least 30, reminderMaxCount times, up to
// 20) need a finite timeout and somebody who has not voted; requiresResponse false has
// none. escalateAfterSeconds after it was asked the question is put to escalateTo, too,
// once; how many have to agree stays. With onTimeout fail_run the agent's run is to end
// with an error when nobody answers in time: agentclient returns one.
//
// An agent without hooks tells what became of an approved call with POST
// /events/:id/execution and the question's secret.
//
// # Names and numbers
//
// The top level of an event is snake_case, everything inside humanInTheLoop,
// humanInTheLoopStatus, answers and stream messages camelCase; humanInTheLoop and
// Response also take snake_case. Times are Unix milliseconds, durations seconds.
// null means absent. Unknown members of an event and a question are kept and
// echoed.
//
// Errors are Problem documents (RFC 9457) whose code maps to one of this package's
// Err values, in both directions.
//
// Version 1 is the protocol of the "Human-in-the-Loop (HITL) - Agent Integration
// Guide", version 1.0 of 2025-10-14, whose every example is a golden message in
// testdata. Version 2 only adds to it.
package schema
