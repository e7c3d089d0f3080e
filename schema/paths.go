package schema

import "strings"

// The paths of a hub. Package routes describes the operations.
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
	PathTestRequests  = "/api/test-requests"
	PathStream        = "/stream"
	PathSessions      = "/api/sessions"
	PathSession       = "/api/session"
	PathExport        = "/api/session/export"
	PathOverview      = "/api/overview"
	PathRiskyCalls    = "/api/risky-calls"
	PathPolicyLine    = "/api/policy-line"
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
	// PathAsk asks a question and returns its answer in one request.
	PathAsk      = "/ask"
	PathHealth   = "/healthz"
	PathReady    = "/readyz"
	PathMetrics  = "/metrics"
	PathOpenAPI  = "/openapi.json"
	PathLicenses = "/licenses"
)

// PathReceipt is the receipt of a question that has ended.
const PathReceipt = "/events/:id/receipt"

// PathLedger is the ledger of all decisions.
const PathLedger = "/api/ledger"

// PathLedgerHead is the newest signed head of the ledger.
const PathLedgerHead = "/api/ledger/head"

// PathHub is the hub's identity.
const PathHub = "/api/hub"

// At returns path with :id replaced by id.
func At(path string, id EventID) string {
	return strings.Replace(path, ":id", id.String(), 1)
}
