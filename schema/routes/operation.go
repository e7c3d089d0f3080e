package routes

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
)

var past = []Route{
	{
		Method: "GET", Path: schema.PathSessions, Access: schema.AccessRead, Summary: "List sessions",
		Description: "Returns a page of sessions, most recently active first.",
		Query: []Param{
			{"source_app", "only this application"}, {"person", "only the sessions that this person ran, as reported"}, {"q", "text in the title, application, session id or directory, then in the newest transcript of each session; not case-sensitive"},
			{"limit", "number of sessions"}, {"cursor", "next of the previous page"},
		},
		Ranges:   map[string]Range{"limit": {1, history.MaxSessions, 50}},
		Response: history.SessionPage{}, Returns: "a page of sessions",
	},
	{
		Method: "GET", Path: schema.PathSession, Access: schema.AccessRead, Summary: "Read a session",
		Description: "Returns one session with its tools, models and agents.",
		Query:       []Param{appParam, idParam},
		Response:    history.SessionDetail{}, Returns: "the session", Errors: append([]error{schema.ErrNotFound}, shareErrors...),
	},
	{
		Method: "GET", Path: history.PathSessionFiles, Access: schema.AccessRead, Summary: "List the files that a session changed",
		Description: "Returns the files that the tool calls of a session changed, the last changed first, with the lines added and removed and the events of the last calls. A call that failed, was denied or interrupted does not count.",
		Query:       []Param{appParam, idParam},
		Response:    history.SessionFiles{}, Returns: "the files", Errors: append([]error{schema.ErrNotFound}, shareErrors...),
	},
	{
		Method: "GET", Path: schema.PathExport, Access: schema.AccessRead, Summary: "Download a session",
		Description: "Downloads a session: its events, one per line, or a Markdown report.",
		Query:       []Param{appParam, idParam, {"format", "ndjson or markdown; default ndjson"}},
		Returns:     "the events, one per line; with format=markdown a report, as text/markdown", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "GET", Path: schema.PathRiskyCalls, Access: schema.AccessRead, Summary: "List risky and refused tool calls",
		Description: "Returns the ratings of tool calls with a finding of medium risk or more and of refused ones: the newest matches, oldest first. They follow the log within about a second. A call without a finding is not proven safe.",
		Query: []Param{
			{"source_app", "only the calls of this application"}, {"session_id", "with source_app: only the calls of this session"},
			{"before", "only ids below this one"}, {"after", "only ids above this one"}, {"limit", "number of calls"},
		},
		Ranges:   map[string]Range{"before": {Min: 1, Max: Unbounded}, "limit": {1, history.MaxRiskyCalls, schema.RecentLimit}},
		Response: history.RiskyCalls{}, Returns: "the calls",
	},
	{
		Method: "GET", Path: schema.PathPolicyLine, Access: schema.AccessRead, Summary: "Propose a policy rule for a tool call",
		Description: "Proposes a rule for hookback.json that asks a person about calls like the one that an event starts, with the number of calls of the last 30 days that it would have asked about. The hub writes no policy files: run the command.",
		Query:       []Param{{"event", "id of the event"}},
		Response:    history.PolicyLine{}, Returns: "the rule", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "GET", Path: schema.PathOverview, Access: schema.AccessRead, Summary: "Read statistics",
		Description: "Returns statistics of people and agents over some days, including today.",
		Query:       []Param{{"days", "number of days"}, zoneParam},
		Response:    history.Overview{}, Returns: "the statistics",
	},
	{
		Method: "GET", Path: history.PathSpend, Access: schema.AccessRead, Summary: "Read what agents spent",
		Description: "Returns the tokens and the cost that agents reported over some days, including today, by day, application, model, person or project, which is the directory of the session. A session's cost is never estimated. A cost counts for the model of the event that reported it, or else for the latest model of its session. Persons are as reported, see Session.",
		Query: []Param{
			{"by", "what to group by: day, app, model, person and project, separated by commas; default day"}, {"days", "number of days; ignored with from"}, zoneParam,
			{"from", "the start of the range instead of days, Unix ms; its whole quarter-hour counts"},
			{"format", "json or csv; default json"},
		},
		Response: history.SpendReport{}, Returns: "the report; with format=csv a table, as text/csv",
	},
	{
		Method: "GET", Path: history.PathNow, Access: schema.AccessRead, Summary: "Read what agents do now",
		Description: "Returns one lane per session that was active in the last 30 minutes or has an open request: its state, the current step, a strip of the last ten minutes and its cost. Lanes are at most 200; the rest is a count. Follow the stream for changes.",
		Query:       []Param{zoneParam},
		Response:    history.NowReport{}, Returns: "the lanes",
	},
	{
		Method: "GET", Path: history.PathReport, Access: schema.AccessRead, Summary: "Read what happened since a time",
		Description: "Returns what happened while no one looked: at most 8 lines, each with a number and a link to the list of exactly the rows that it counts. A line without rows is left out.",
		Query: []Param{
			{"since", "how long ago, such as 12h or 3d, or a time in Unix ms; at most 31 days ago; default 12h"},
			{"check", "1: count each line a second time, in another way"},
		},
		Response: history.Report{}, Returns: "the report",
	},
	{
		Method: "GET", Path: schema.PathLedgerHead, Access: schema.AccessRead, Summary: "Read the head of the audit log",
		Description: "Returns the newest signed head of the audit log: an envelope around a LedgerHead. The hub signs one every 100 entries, every minute in which there are new entries, when it is locked and when it stops. 404 if there is none yet.",
		Response:    schema.Envelope{}, Returns: "the envelope", Errors: []error{schema.ErrNotFound},
		Examples: Examples{Response: []string{"v2.Envelope.head"}},
	},
	{
		Method: "GET", Path: schema.PathLedger, Access: schema.AccessRead, Summary: "Read the audit log",
		Description: "Returns the audit log, oldest first: a hash chain of entries (see LedgerEntry) that hookback verify checks.",
		Query: []Param{
			{"after", "only entries above this number, oldest first; 0 starts at the beginning"}, {"before", "only entries below this number"},
			{"of", "only entries of this question"}, {"limit", "number of entries: the newest, unless after is given"},
			{"format", "ndjson: download all entries after the given number, one per line"},
		},
		Response: []sign.LedgerEntry{}, Returns: "the entries",
	},
}

var sessionMessages = []Route{
	{
		Method: "GET", Path: control.PathMessages, Access: schema.AccessRead, Summary: "List messages to a session",
		Description: "Returns the newest 50 messages to a session, oldest first.",
		Query:       []Param{appParam, idParam},
		Response:    []control.Message{}, Returns: "the messages",
	},
	{
		Method: "POST", Path: control.PathMessages, Access: schema.AccessKeep, Summary: "Send a message to a session",
		Description: "Saves a message for the model of a running session. The next hook of the session that can take it hands it over, at most once. Only a signed-in operator may send one, also on a hub without a lock. Control characters are removed, and secrets are redacted.",
		Headers:     []Param{{control.IdempotencyHeader, "a repeat with the same key and body returns the first message"}},
		Request:     control.MessageDraft{}, Response: control.Message{}, Returns: "the saved message", Created: true,
		Errors: []error{schema.ErrNotFound, schema.ErrSessionEnded, schema.ErrKeyConflict, schema.ErrNotSupported, schema.ErrTooMany},
	},
	{
		Method: "GET", Path: control.PathWait, Access: schema.AccessPost, Summary: "Wait for a message",
		Description: "Waits until a message waits for the session, for a hook of an idle session. It hands over no message: the response to an event does.",
		Query: []Param{
			appParam, idParam, {"wait", "seconds to wait"}, {"after", "after of the previous response"},
			{"waiter", "name of the caller; another waiter of the session ends its wait"},
		},
		Response: control.WaitStatus{}, Returns: "whether a message waits",
	},
	{
		Method: "DELETE", Path: control.PathMessage, Access: schema.AccessKeep, Summary: "Withdraw a message",
		Description: "Withdraws a message that was not handed over. It stays listed.",
		Response:    control.Message{}, Returns: "the withdrawn message", Errors: []error{schema.ErrHandedOver},
	},
}

var agents = []Route{
	{
		Method: "POST", Path: schema.PathOTLPLogs, Access: schema.AccessPost, Summary: "Receive OpenTelemetry logs",
		Description: "Receives OpenTelemetry log records of coding agents (OTLP/HTTP as JSON or application/x-protobuf, plain or with gzip). Requests to models become events of their session.",
		Response:    schema.OTLPResponse{}, Returns: "accepted, at least in part",
	},
	{
		Method: "POST", Path: schema.PathOTLPMetrics, Access: schema.AccessPost, Summary: "Receive OpenTelemetry metrics",
		Description: "Receives OpenTelemetry metrics of coding agents (OTLP/HTTP as JSON or application/x-protobuf, plain or with gzip). Tokens and cost become events of their session.",
		Response:    schema.OTLPResponse{}, Returns: "accepted, at least in part",
	},
	{
		Method: "POST", Path: schema.PathOTLPTraces, Access: schema.AccessPost, Summary: "Count OpenTelemetry spans",
		Description: "Counts and ignores the spans of an exporter that sends all signals to one address. Hooks report tool calls.",
		Response:    schema.OTLPResponse{}, Returns: "accepted and not stored",
	},
	{
		Method: "POST", Path: schema.PathClaudeCode, Access: schema.AccessPost, Summary: "Receive Claude Code's hooks",
		Description: "Receives Claude Code's HTTP hooks. Every event is stored. A permission request, a question or a plan asks a person; the response sends spaces until there is an answer. If no dashboard is open, a hook without an open dialog (claude -p, a subagent, or a request without the header X-Claude-Entrypoint) gets {} at once.",
		Query: []Param{
			{"limit", "timeout of the hook in Claude Code's settings, in seconds"},
			{"app", "source_app of the events; default: the name of the session's directory"},
		},
		Ranges:  map[string]Range{"limit": {1, int64(schema.MaxTimeout / time.Second), 600}},
		Headers: []Param{{"X-Claude-Entrypoint", "Claude Code's entry point, the value of its variable CLAUDE_CODE_ENTRYPOINT; without it, no dialog of Claude Code counts as open"}},
		Returns: "the output of the hook; {} means no decision: Claude Code shows its own dialog",
	},
	{
		Method: "POST", Path: schema.PathAsk, Access: schema.AccessPost, Summary: "Ask and wait for the answer",
		Description: "Asks a question and returns its answer. The body has the members of humanInTheLoop at its top level; type defaults to choice with choices, to question with questions, otherwise to permission. It may contain source_app (default ask), session_id (default random) and payload (default {}). The response sends spaces until there is an answer. No answer in time is an answer, too: permission false and outcome __timeout__. If the request can't be completed after its status was sent, the outcome is __cancelled__. A closed connection ends the question, 10 seconds later if the request has an Idempotency-Key, so that it can be sent again.",
		Headers: []Param{
			{schema.IdempotencyHeader, "chosen by the caller; a repeat with the same body waits for the same question, or gets its answer; with another body 409"},
			{"Prefer", "wait=N: after N seconds, at most 60, without an answer the response is 202"},
		},
		Response: schema.Answer{}, Returns: "the answer",
		Also:     map[int]string{202: "no answer yet (Prefer: wait): the stored event, with the requestSecret; the header Location has the path of the answer"},
		Errors:   []error{schema.ErrKeyConflict, schema.ErrTooMany},
		Examples: Examples{Response: []string{"v2.Answer.edited", "v2.Answer.timeout", "v2.Answer.denied"}},
	},
	{
		Method: "POST", Path: schema.PathMCP, Access: schema.AccessPost, Summary: "Model Context Protocol",
		Description: "Model Context Protocol over stateless Streamable HTTP: tools to ask people, wait for answers, list and vote on requests, and search events. Slow results arrive as an event stream.",
		Query: []Param{
			{"app", "source_app of this client's questions; default mcp. An agent's token overrides it with its own name"},
			{"session", "session_id of this client's questions; default mcp"},
			{"timeout", "timeout of this client's questions in seconds, unless a tool call sets one; default 300"},
		},
		Request: schema.RPC{}, Response: schema.RPC{}, Returns: "the response to the request", Also: map[int]string{202: "a notification was accepted"},
		Errors:   []error{schema.ErrNoRoute},
		Examples: Examples{Request: []string{"v2.RPC.call"}, Response: []string{"v2.RPC.result", "v2.RPC.error"}},
	},
}

var operation = []Route{
	{
		Method: "GET", Path: schema.PathHub, Access: schema.AccessPublic, Summary: "Read the hub's key",
		Description: "Returns the hub's public key, and a proof that it holds the private key now.",
		Query:       []Param{{"nonce", "16 to 128 printable ASCII characters without spaces, chosen by the caller; the proof contains it"}},
		Response:    sign.HubKey{}, Returns: "the key",
	},
	{
		Method: "GET", Path: schema.PathHealth, Access: schema.AccessPublic, Summary: "Liveness",
		Description: "Reports whether the process responds.",
		Response:    schema.Health{}, Returns: "the process responds", Examples: Examples{Response: []string{"v2.Health.ok"}},
	},
	{
		Method: "GET", Path: schema.PathReady, Access: schema.AccessPublic, Summary: "Readiness",
		Description: "Reports whether the hub can store events.",
		Response:    schema.Health{}, Returns: "the hub can store events", Also: map[int]string{503: "the hub is stopping, or can't store every event; the body is a Health"},
		Examples: Examples{Response: []string{"v2.Health.ok"}},
	},
	{
		Method: "GET", Path: schema.PathMetrics, Access: schema.AccessRead, Summary: "Read metrics",
		Description: "Returns metrics for Prometheus.", Returns: "metrics in the Prometheus text format",
	},
	{
		Method: "GET", Path: schema.PathOpenAPI, Access: schema.AccessRead, Summary: "Read this document",
		Description: "Returns this API as OpenAPI 3.1.", Returns: "this document", Errors: []error{schema.ErrNoRoute},
	},
	{
		Method: "GET", Path: schema.PathLicenses, Access: schema.AccessPublic, Summary: "Read the licenses",
		Description: "Returns the license of Hookback and of its components.", Returns: "license notices",
	},
}
