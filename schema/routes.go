package schema

import (
	"slices"
	"strings"
)

// Route is one thing a hub can be asked for over HTTP.
type Route struct {
	Method, Path string // :id stands for an event's id
	Summary      string
	Query        []Param
	Request      any // a value of the body's type, nil for none
	Response     any // a value of the 200 body's type, nil for none
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
	// PathClaudeCode takes the http hooks of Claude Code, which need nothing installed:
	//
	//	{"hooks": {
	//	  "PermissionRequest": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code?limit=3600", "timeout": 3600}]}],
	//	  "Elicitation":       [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code?limit=3600", "timeout": 3600}]}],
	//	  "PostToolUse":       [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]
	//	}}
	//
	// and the last of these for every event to watch: PreToolUse, PostToolUseFailure,
	// PermissionDenied, UserPromptSubmit, Notification, Stop, StopFailure,
	// SubagentStart, SubagentStop, PreCompact, SessionEnd. Claude Code runs no http
	// hooks at SessionStart and Setup. PreToolUse only watches here: whatever goes wrong
	// with an http hook, the call runs, so it can't be a gate.
	PathClaudeCode = "/hooks/claude-code"
	PathHealth     = "/healthz"
	PathReady      = "/readyz"
	PathMetrics    = "/metrics"
	PathOpenAPI    = "/openapi.json"
)

// Routes lists every route of a hub but the dashboard's own files. The hub's
// router, the OpenAPI document and the dashboard's client are held against it. The
// routes of each part stand beside its types.
var Routes = slices.Concat(mcpRoutes, eventRoutes, peopleRoutes, passkeyRoutes, ledgerRoutes, ruleRoutes, notificationRoutes, inboxRoutes)

var eventRoutes = []Route{
	{"POST", PathEvents, "Store an event; with humanInTheLoop it asks a person", nil, Event{}, Event{}},
	{"POST", PathBatch, "Store several events, one result each", nil, []Event{}, []BatchResult{}},
	{"GET", PathRecent, "The newest events, oldest first", []Param{
		{"limit", "1 to 1000, 300 unless told"},
	}, nil, []Event{}},
	{"GET", PathEvents, "Events that match every given filter, oldest first", []Param{
		{"source_app", "exactly this application"},
		{"session_id", "exactly this session"},
		{"hook_event_type", "exactly this type"},
		{"tool_name", "exactly this tool"},
		{"status", "questions in this state: pending, responded, timeout, error, or undelivered"},
		{"q", "text in the summary, the question or the payload"},
		{"from", "not before this time, the hub's clock, Unix ms"},
		{"to", "before this time, the hub's clock, Unix ms"},
		{"before", "only ids below this one"},
		{"after", "only ids above this one, from the oldest on; 0 begins at the beginning"},
		{"limit", "1 to 1000, 100 unless told"},
	}, nil, []Event{}},
	{"GET", PathFilterOptions, "The values a filter can offer", nil, nil, FilterOptions{}},
	{"GET", PathSearch, "Events of the whole history that match a filter as people write it, oldest first; a bounded part of the history at a time", []Param{
		{"filter", "words that all occur, \"a phrase\", key:value with * for anything, /a regular expression/ (RE2), - before what must not be; keys are agent, session, type, tool, model, id, error, kind, risk, status, outcome, delivery, or a path into the payload or its tool_input"},
		{"from", "not before this time, the hub's clock, Unix ms"},
		{"to", "before this time, the hub's clock, Unix ms"},
		{"before", "only ids below this one; searchedTo of the page above"},
		{"after", "only ids above this one, from the oldest on; 0 begins at the beginning; searchedTo of the page below"},
		{"limit", "1 to 1000, 100 unless told"},
	}, nil, SearchResult{}},
	{"GET", PathEvent, "One event, whole, with its transcript", nil, nil, Event{}},
	{"GET", PathContext, "What led to a question: its session's last events before it, at most 8, and how questions about the same call ended before", nil, nil, QuestionContext{}},
	{"POST", PathRespond, "Answer a question, or vote where several people have to agree; the first answer, or the first choice with enough votes, wins. With holdMs it can be undone meanwhile", nil, Response{}, Event{}},
	{"POST", PathUndo, "Take back an answer that is still held", nil, nil, Event{}},
	{"POST", PathApprove, "Approve exactly the listed permissions, held for 5 s unless told; one result each, in their order", nil, Approvals{}, []BatchResult{}},
	{"POST", PathRedeliver, "Try an answer now that did not get to its agent", nil, nil, Event{}},
	{"POST", PathHandled, "Note that a person took care of an answer that did not get to its agent", nil, nil, Event{}},
	{"POST", PathCancel, "Cancel a question, or withdraw it with its own secret", nil, Cancel{}, Event{}},
	{"POST", PathExtend, "Give people more time for a question, or take its limit away; its agent is told", nil, Extend{}, Event{}},
	{"POST", PathExecution, "Report what became of an approved call, with the question's own secret", nil, CallReport{}, Event{}},
	{"GET", PathResponse, "Pull the answer: 200, or 204 while there is none", []Param{
		{"wait", "seconds to wait for an answer, at most 60"},
	}, nil, Answer{}},
	{"GET", PathStream, "WebSocket: every event as it is stored", []Param{
		{"v", "2 for resumable frames; version 1 unless told"},
		{"after", "version 2: continue behind this seq"},
		{"hub", "version 2: the hubId that seq came from"},
	}, nil, nil},
	{"GET", PathSessions, "Sessions, the latest active first", []Param{
		{"source_app", "exactly this application"},
		{"q", "text in the title, the application, the session's id or its directory, in any case"},
		{"limit", "1 to 200, 50 unless told"},
		{"cursor", "next of the page before"},
	}, nil, SessionPage{}},
	{"GET", PathSession, "One session and the tools it used", []Param{
		{"source_app", "its application"},
		{"session_id", "its id"},
	}, nil, SessionDetail{}},
	{"GET", PathExport, "A session as a download: its events, one per line, or a report in Markdown", []Param{
		{"source_app", "its application"},
		{"session_id", "its id"},
		{"format", "ndjson or markdown; ndjson unless told"},
	}, nil, nil},
	{"GET", PathOverview, "How people and agents did over some days, today included", []Param{
		{"days", "1 to 90, 14 unless told"},
		{"tz", "the IANA time zone that the days are of, such as Europe/Berlin; UTC unless told"},
	}, nil, Overview{}},
	{"POST", PathOTLPLogs, "OpenTelemetry log records of coding agents, as OTLP/HTTP in JSON: requests to models become events of their session", nil, nil, OTLPResponse{}},
	{"POST", PathOTLPMetrics, "OpenTelemetry metrics of coding agents, as OTLP/HTTP in JSON: tokens and cost become events of their session", nil, nil, OTLPResponse{}},
	{"POST", PathClaudeCode, "Claude Code's http hooks, as they come: every event is stored; a permission request, a question or a plan asks a person, and the response is spaces until there is an answer. {} means no decision: Claude Code's own dialog decides", []Param{
		{"limit", "seconds that Claude Code lets this hook run, its timeout in the settings; 600 unless told"},
		{"app", "the source_app of its events; unless told, the name of the session's directory"},
	}, nil, nil},
	{"GET", PathHealth, "Whether the process answers", nil, nil, Health{}},
	{"GET", PathReady, "Whether the hub can store events", nil, nil, Health{}},
	{"GET", PathMetrics, "Prometheus metrics", nil, nil, nil},
	{"GET", PathOpenAPI, "This interface as OpenAPI 3.1", nil, nil, nil},
}

// At returns path with id in the place of :id.
func At(path string, id EventID) string {
	return strings.Replace(path, ":id", id.String(), 1)
}
