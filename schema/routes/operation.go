package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
)

var past = []Route{
	{
		Method: "GET", Path: schema.PathSessions, Access: schema.AccessRead, Summary: "List sessions",
		Description: "Returns a page of sessions, most recently active first.",
		Query: []Param{
			{"source_app", "only this application"}, {"q", "text in the title, application, session id or directory; not case-sensitive"},
			{"limit", "1 to 200, default 50"}, {"cursor", "next of the previous page"},
		},
		Response: history.SessionPage{}, Returns: "a page of sessions",
	},
	{
		Method: "GET", Path: schema.PathSession, Access: schema.AccessRead, Summary: "Read a session",
		Description: "Returns one session with its tools, models and agents.",
		Query:       []Param{appParam, idParam},
		Response:    history.SessionDetail{}, Returns: "the session", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "GET", Path: schema.PathExport, Access: schema.AccessRead, Summary: "Download a session",
		Description: "Downloads a session: its events, one per line, or a Markdown report.",
		Query:       []Param{appParam, idParam, {"format", "ndjson or markdown; default ndjson"}},
		Returns:     "the events, one per line; with format=markdown a report, as text/markdown", Errors: []error{schema.ErrNotFound},
	},
	{
		Method: "GET", Path: schema.PathOverview, Access: schema.AccessRead, Summary: "Read statistics",
		Description: "Returns statistics of people and agents over some days, including today.",
		Query:       []Param{{"days", "1 to 90, default 14"}, zoneParam},
		Response:    history.Overview{}, Returns: "the statistics",
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
			{"of", "only entries of this question"}, {"limit", "1 to 1000, default 100; selects the newest entries unless after is given"},
			{"format", "ndjson: download all entries after the given number, one per line"},
		},
		Response: []sign.LedgerEntry{}, Returns: "the entries",
	},
}

var agents = []Route{
	{
		Method: "POST", Path: schema.PathOTLPLogs, Access: schema.AccessPost, Summary: "Receive OpenTelemetry logs",
		Description: "Receives OpenTelemetry log records of coding agents (OTLP/HTTP JSON). Requests to models become events of their session.",
		Response:    schema.OTLPResponse{}, Returns: "accepted, at least in part",
	},
	{
		Method: "POST", Path: schema.PathOTLPMetrics, Access: schema.AccessPost, Summary: "Receive OpenTelemetry metrics",
		Description: "Receives OpenTelemetry metrics of coding agents (OTLP/HTTP JSON). Tokens and cost become events of their session.",
		Response:    schema.OTLPResponse{}, Returns: "accepted, at least in part",
	},
	{
		Method: "POST", Path: schema.PathClaudeCode, Access: schema.AccessPost, Summary: "Receive Claude Code's hooks",
		Description: "Receives Claude Code's HTTP hooks. Every event is stored. A permission request, a question or a plan asks a person; the response sends spaces until there is an answer.",
		Query: []Param{
			{"limit", "timeout of the hook in Claude Code's settings, in seconds; default 600"},
			{"app", "source_app of the events; default: the name of the session's directory"},
		},
		Returns: "the output of the hook; {} means no decision: Claude Code shows its own dialog",
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
