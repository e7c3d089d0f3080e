package schema

import (
	"slices"
	"strings"
)

// Route is one HTTP operation of the hub.
type Route struct {
	Method, Path string // :id is the id of an event
	Access       Access // the class of the route: the callers that may use it
	Summary      string
	Query        []Param
	Request      any // zero value of the body's type; nil if there is no body
	Response     any // zero value of the type of the 200 body; nil if there is none
}

// Param is a query parameter.
type Param struct{ Name, Description string }

// The paths of a hub.
const (
	PathEvents        = "/events"
	PathBatch         = "/events/batch"
	PathRecent        = "/events/recent"
	PathFilterOptions = "/events/filter-options"
	PathSearch        = "/events/search"
	PathEvent         = "/events/:id"
	PathContext       = "/events/:id/context"
	PathRespond       = "/events/:id/respond"
	PathCancel        = "/events/:id/cancel"
	PathResponse      = "/events/:id/response"
	PathExtend        = "/events/:id/extend"
	PathExecution     = "/events/:id/execution"
	PathUndo          = "/events/:id/undo"
	PathApprove       = "/events/approve"
	PathRedeliver     = "/events/:id/redeliver"
	PathHandled       = "/events/:id/handled"
	PathStream        = "/stream"
	PathSessions      = "/api/sessions"
	PathSession       = "/api/session"
	PathExport        = "/api/session/export"
	PathOverview      = "/api/overview"
	PathOTLPLogs      = "/v1/logs"
	PathOTLPMetrics   = "/v1/metrics"
	// PathClaudeCode receives the HTTP hooks of Claude Code, which need no installed program:
	//
	//	{"hooks": {
	//	  "PermissionRequest": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code?limit=3600", "timeout": 3600}]}],
	//	  "Elicitation":       [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code?limit=3600", "timeout": 3600}]}],
	//	  "PostToolUse":       [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]
	//	}}
	//
	// The last form also works for the other observed events: PreToolUse, PostToolUseFailure,
	// PermissionDenied, UserPromptSubmit, Notification, Stop, StopFailure, SubagentStart,
	// SubagentStop, PreCompact, SessionEnd. Claude Code runs no HTTP hooks at SessionStart and
	// Setup. PreToolUse is only observed: Claude Code runs the call if an HTTP hook fails, so it
	// can't enforce an approval.
	PathClaudeCode = "/hooks/claude-code"
	PathHealth     = "/healthz"
	PathReady      = "/readyz"
	PathMetrics    = "/metrics"
	PathOpenAPI    = "/openapi.json"
	PathLicenses   = "/licenses"
)

// Routes lists every route of a hub except the dashboard's static files. Tests compare the hub's
// router, the OpenAPI document and the dashboard's client with it. Each group of routes is declared
// next to its types.
var Routes = slices.Concat(mcpRoutes, eventRoutes, hubRoutes, peopleRoutes, passkeyRoutes, ledgerRoutes, ruleRoutes, notificationRoutes, inboxRoutes)

var eventRoutes = []Route{
	{"POST", PathEvents, AccessPost, "Store an event; with humanInTheLoop it asks a question", nil, Event{}, Event{}},
	{"POST", PathBatch, AccessPost, "Store a batch of events; returns one result per event", nil, []Event{}, []BatchResult{}},
	{"GET", PathRecent, AccessRead, "The newest events, oldest first", []Param{
		{"limit", "1 to 1000, default 300"},
	}, nil, []Event{}},
	{"GET", PathEvents, AccessRead, "Events that match every given filter, oldest first", []Param{
		{"source_app", "only this application"},
		{"session_id", "only this session"},
		{"hook_event_type", "only this type"},
		{"tool_name", "only this tool"},
		{"status", "questions in this state: pending, responded, timeout, error, or undelivered"},
		{"q", "text in the summary, question or payload"},
		{"from", "at or after this time by the hub's clock, Unix ms"},
		{"to", "before this time by the hub's clock, Unix ms"},
		{"before", "only ids below this one"},
		{"after", "only ids above this one, oldest first; 0 starts at the beginning"},
		{"limit", "1 to 1000, default 100"},
	}, nil, []Event{}},
	{"GET", PathFilterOptions, AccessRead, "Values that a filter can offer", nil, nil, FilterOptions{}},
	{"GET", PathSearch, AccessRead, "Search the whole history with a filter expression; oldest first. Each request searches a bounded part of the history", []Param{
		{"filter", "words that must all occur, \"a phrase\", key:value with * as a wildcard, /a regular expression/ (RE2); - excludes a term. Keys are agent, session, type, tool, model, id, error, kind, risk, status, outcome, delivery, or a path into the payload or its tool_input"},
		{"from", "at or after this time by the hub's clock, Unix ms"},
		{"to", "before this time by the hub's clock, Unix ms"},
		{"before", "only ids below this one; searchedTo of the page after this one"},
		{"after", "only ids above this one, oldest first; 0 starts at the beginning; searchedTo of the page before this one"},
		{"limit", "1 to 1000, default 100"},
	}, nil, SearchResult{}},
	{"GET", PathEvent, AccessRead, "One complete event with its transcript", nil, nil, Event{}},
	{"GET", PathContext, AccessRead, "Context of a question: the session's last events before it, at most 8, and the outcomes of earlier questions about the same call", nil, nil, QuestionContext{}},
	{"GET", PathReceipt, AccessRead, "The receipt of a question that has ended: the signed decision, the passkey assertions behind it and its ledger entry", nil, nil, Receipt{}},
	{"POST", PathRespond, AccessDecide, "Answer a question, or vote if it requires several approvals. The first answer, or the first choice that reaches the quorum, wins. holdMs opens an undo window", nil, Response{}, Event{}},
	{"POST", PathUndo, AccessDecide, "Undo an answer within its undo window", nil, nil, Event{}},
	{"POST", PathApprove, AccessDecide, "Approve exactly the listed permissions; returns one result per request, in order. The undo window is 5 s by default", nil, Approvals{}, []BatchResult{}},
	{"POST", PathRedeliver, AccessDecide, "Retry the delivery of an undelivered answer now", nil, nil, Event{}},
	{"POST", PathHandled, AccessDecide, "Mark an undelivered answer as handled by a person", nil, nil, Event{}},
	{"POST", PathCancel, AccessCancel, "Cancel a question, or withdraw it with its request secret", nil, Cancel{}, Event{}},
	{"POST", PathExtend, AccessDecide, "Extend or remove the deadline of a question; the agent is notified", nil, Extend{}, Event{}},
	{"POST", PathExecution, AccessAsker, "Report the start or the outcome of an approved call, with the request secret of its question; the first outcome is kept", nil, CallReport{}, Event{}},
	{"GET", PathResponse, AccessRead, "Long poll for the answer: 200, or 204 if there is none yet", []Param{
		{"wait", "seconds to wait for an answer, at most 60; default 0"},
	}, nil, Answer{}},
	{"GET", PathStream, AccessRead, "WebSocket stream of all events as they are stored", []Param{
		{"v", "2 for resumable frames; default 1"},
		{"after", "version 2: resume after this seq"},
		{"hub", "version 2: the hubId that the seq belongs to"},
	}, nil, nil},
	{"GET", PathSessions, AccessRead, "Sessions, most recently active first", []Param{
		{"source_app", "only this application"},
		{"q", "text in the title, application, session id or directory; not case-sensitive"},
		{"limit", "1 to 200, default 50"},
		{"cursor", "next of the previous page"},
	}, nil, SessionPage{}},
	{"GET", PathSession, AccessRead, "One session with its tools, models and agents", []Param{
		{"source_app", "application of the session"},
		{"session_id", "id of the session"},
	}, nil, SessionDetail{}},
	{"GET", PathExport, AccessRead, "Download a session: its events, one per line, or a Markdown report", []Param{
		{"source_app", "application of the session"},
		{"session_id", "id of the session"},
		{"format", "ndjson or markdown; default ndjson"},
	}, nil, nil},
	{"GET", PathOverview, AccessRead, "Statistics of people and agents over some days, including today", []Param{
		{"days", "1 to 90, default 14"},
		{"tz", "IANA time zone of the days, such as Europe/Berlin; default UTC"},
	}, nil, Overview{}},
	{"POST", PathOTLPLogs, AccessPost, "Receive OpenTelemetry log records of coding agents (OTLP/HTTP JSON); requests to models become events of their session", nil, nil, OTLPResponse{}},
	{"POST", PathOTLPMetrics, AccessPost, "Receive OpenTelemetry metrics of coding agents (OTLP/HTTP JSON); tokens and cost become events of their session", nil, nil, OTLPResponse{}},
	{"POST", PathClaudeCode, AccessPost, "Receive Claude Code's HTTP hooks. Every event is stored. A permission request, a question or a plan asks a person; the response sends spaces until there is an answer. {} means no decision: Claude Code shows its own dialog", []Param{
		{"limit", "timeout of the hook in Claude Code's settings, in seconds; default 600"},
		{"app", "source_app of the events; default: the name of the session's directory"},
	}, nil, nil},
	{"GET", PathHealth, AccessPublic, "Liveness: reports whether the process responds", nil, nil, Health{}},
	{"GET", PathReady, AccessPublic, "Readiness: reports whether the hub can store events", nil, nil, Health{}},
	{"GET", PathMetrics, AccessRead, "Prometheus metrics", nil, nil, nil},
	{"GET", PathOpenAPI, AccessRead, "This API as OpenAPI 3.1", nil, nil, nil},
	{"GET", PathLicenses, AccessPublic, "The license of Hookback and of its components", nil, nil, nil},
}

// At returns path with :id replaced by id.
func At(path string, id EventID) string {
	return strings.Replace(path, ":id", id.String(), 1)
}
