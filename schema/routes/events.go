package routes

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
)

// Parameters that several lists share.
var (
	fromParam = Param{"from", "at or after this time by the hub's clock, Unix ms"}
	toParam   = Param{"to", "before this time by the hub's clock, Unix ms"}
	appParam  = Param{"source_app", "application of the session"}
	idParam   = Param{"session_id", "id of the session"}
	zoneParam = Param{"tz", "IANA time zone of the days, such as Europe/Berlin; default UTC"}
	// summaryParam keeps the first screen of a page small. GET /events/:id has the whole event.
	summaryParam = Param{"summary", "1 shortens questions above 16 KiB and leaves out the payloads of questions above 16 KiB, marked by questionTruncated and payloadTruncated"}
	// requestSummaryParam keeps the inbox of a page small, whatever the agents ask.
	requestSummaryParam = Param{"summary", summaryParam.Description + "; 2 shortens each question with its event to 1.5 kB"}
	reasonParam         = Param{"reason", "same as in the body, which takes precedence"}
)

// answerErrors are the errors of every operation that answers a question.
var answerErrors = []error{
	schema.ErrSelfApproval, schema.ErrProofRequired, schema.ErrNoQuestion, schema.ErrWrongAnswer,
	schema.ErrDecided, schema.ErrStale, schema.ErrHeld, schema.ErrFrozen, schema.ErrExpired,
}

// cancelErrors are the errors of every operation that cancels a question.
var cancelErrors = []error{schema.ErrNoQuestion, schema.ErrDecided, schema.ErrStale, schema.ErrExpired}

var (
	pendingExample  = []string{"v1.Event.pending"}
	answeredExample = []string{"v1.Event.responded"}
)

// shareErrors are the errors of wrong secrets, on the routes that share links open.
var shareErrors = []error{schema.ErrTooMany}

var events = []Route{
	{
		Method: "POST", Path: schema.PathEvents, Access: schema.AccessPost, Summary: "Store an event",
		Description: "Stores an event and returns it once it is on disk. With humanInTheLoop it asks a question, which a person answers later. A hook that sends both headers gets a short receipt with what people sent to its agent: {\"id\", \"directive\": {\"freeze\", \"grant\", \"messages\"}}.",
		Headers: []Param{
			{"Prefer", "return=minimal: return a receipt instead of the event, unless it asks a question"},
			{"Hookback-Accepts", "the parts of a directive that the sender applies: grant, message, freeze, separated by commas"},
			{control.TestHeader, "a ticket of hookback doctor; a wrong, used or old one is refused"},
		},
		Request: schema.Event{}, Response: schema.Event{}, Returns: "the stored event; a repeated idempotency_key returns the first one",
		Errors: []error{schema.ErrKeyConflict, schema.ErrSessionKnown, schema.ErrTooMany, schema.ErrForbidden},
		Examples: Examples{
			Request:  []string{"v1.Event.hook", "v1.Event.request", "v2.Event.tool-call", "v2.Event.several-questions", "v2.Event.quorum"},
			Response: pendingExample,
		},
	},
	{
		Method: "POST", Path: schema.PathBatch, Access: schema.AccessPost, Summary: "Store several events",
		Description: "Stores a batch of events. Each is stored or rejected on its own.",
		Request:     []schema.Event{}, Response: []schema.BatchResult{}, Returns: "one result per event, in order",
	},
	{
		Method: "GET", Path: schema.PathRecent, Access: schema.AccessRead, Summary: "List the newest events",
		Description: "Returns the newest events, oldest first.",
		Query:       []Param{{"limit", "number of events"}, summaryParam}, Ranges: map[string]Range{"limit": {1, schema.MaxPageLimit, schema.RecentLimit}},
		Response: []schema.Event{}, Returns: "the events", Examples: Examples{Response: []string{"v2.Event[].batch"}},
	},
	{
		Method: "GET", Path: schema.PathEvents, Access: schema.AccessRead, Summary: "List events by filter",
		Description: "Returns the events that match every given filter, oldest first.",
		Query: []Param{
			{"source_app", "only this application"}, {"session_id", "only this session"}, {"hook_event_type", "only this type"}, {"tool_name", "only this tool"},
			{"status", "questions in this state: pending, responded, timeout, error, or undelivered"},
			{"q", "text in the summary, question or payload"}, fromParam, toParam,
			{"before", "only ids below this one"}, {"after", "only ids above this one, oldest first; 0 starts at the beginning"},
			{"limit", "number of events"}, requestSummaryParam,
		},
		Ranges:   map[string]Range{"summary": {Max: 2}},
		Response: []schema.Event{}, Returns: "the events", Errors: shareErrors, Examples: Examples{Response: []string{"v2.Event[].batch"}},
	},
	{
		Method: "GET", Path: schema.PathFilterOptions, Access: schema.AccessRead, Summary: "List filter values",
		Description: "Returns the values that a filter can offer.",
		Response:    schema.FilterOptions{}, Returns: "the values by member", Examples: Examples{Response: []string{"v1.FilterOptions.values"}},
	},
	{
		Method: "GET", Path: schema.PathSearch, Access: schema.AccessRead, Summary: "Search the history",
		Description: "Searches the whole history with a filter expression; oldest first. Each request searches a bounded part of the history.",
		Query: []Param{
			{"filter", "words that must all occur, \"a phrase\", key:value with * as a wildcard, /a regular expression/ (RE2); - excludes a term. Keys are agent, session, type, tool, model, id, error, kind, risk (also an order such as >=medium), decided, status, outcome, delivery, or a path into the payload or its tool_input"},
			{"q", "another name of filter"}, fromParam, toParam,
			{"before", "only ids below this one; searchedTo of the page after this one"},
			{"after", "only ids above this one, oldest first; 0 starts at the beginning; searchedTo of the page before this one"},
			{"limit", "number of events"},
		},
		Response: history.SearchResult{}, Returns: "a page of events, which may be empty before the history is complete",
	},
	{
		Method: "GET", Path: schema.PathEvent, Access: schema.AccessRead, Summary: "Read an event",
		Description: "Returns one complete event with its transcript.",
		Response:    schema.Event{}, Returns: "the event", Errors: shareErrors, Examples: Examples{Response: answeredExample},
	},
	{
		Method: "GET", Path: schema.PathContext, Access: schema.AccessRead, Summary: "Read a question's context",
		Description: "Returns the session's last events before a question, at most 8, the outcomes of earlier questions about the same call, and changes of its files by other agents.",
		Response:    history.QuestionContext{}, Returns: "the context", Errors: []error{schema.ErrNoQuestion},
	},
	{
		Method: "GET", Path: schema.PathReceipt, Access: schema.AccessRead, Summary: "Read a question's receipt",
		Description: "Returns the receipt of a question that has ended: the signed decision, the text of the question that it is about, the passkey assertions behind it and its ledger entry.",
		Response:    sign.Receipt{}, Returns: "the receipt", Errors: []error{schema.ErrNoQuestion, schema.ErrUndecided},
	},
	{
		Method: "POST", Path: schema.PathRespond, Access: schema.AccessDecide, Summary: "Answer a question",
		Description: "Answers a question, or votes if it requires several approvals. The first answer, or the first choice that reaches the quorum, wins. holdMs opens an undo window.",
		Request:     schema.Response{}, Response: schema.Event{}, Returns: "the event with its new status",
		Errors: answerErrors,
		Examples: Examples{
			Request:  []string{"v1.Response.permission", "v1.Response.question", "v1.Response.choice", "v2.Response.edited", "v2.Response.several-questions", "v2.Response.held"},
			Response: answeredExample,
		},
	},
	{
		Method: "POST", Path: schema.PathUndo, Access: schema.AccessDecide, Summary: "Undo an answer",
		Description: "Undoes an answer within its undo window. The question is pending again.",
		Response:    schema.Event{}, Returns: "the event, pending again",
		Errors: []error{schema.ErrNoQuestion, schema.ErrNotHeld}, Examples: Examples{Response: pendingExample},
	},
	{
		Method: "POST", Path: schema.PathApprove, Access: schema.AccessDecide, Summary: "Approve several permissions",
		Description: "Approves exactly the listed permissions, each in the revision that the person saw. Risky ones are refused. The undo window is 5 s by default.",
		Request:     schema.Approvals{}, Response: []schema.BatchResult{}, Returns: "one result per request, in order",
	},
	{
		Method: "POST", Path: schema.PathRedeliver, Access: schema.AccessDecide, Summary: "Retry a delivery",
		Description: "Retries the delivery of an undelivered answer now.",
		Response:    schema.Event{}, Returns: "the event, with its answer queued",
		Errors: []error{schema.ErrNoQuestion, schema.ErrUndecided, schema.ErrNoRetry}, Examples: Examples{Response: answeredExample},
	},
	{
		Method: "POST", Path: schema.PathHandled, Access: schema.AccessDecide, Summary: "Mark an answer as handled",
		Description: "Marks an undelivered answer as handled by a person, so that it needs no more attention.",
		Response:    schema.Event{}, Returns: "the event with its new status",
		Errors: []error{schema.ErrNoQuestion, schema.ErrUndecided}, Examples: Examples{Response: answeredExample},
	},
	{
		Method: "POST", Path: schema.PathCancel, Access: schema.AccessCancel, Summary: "Cancel a question",
		Description: "Cancels a question, which a recipient, the owner or an admin may do, or withdraws it with its request secret.",
		Request:     schema.Cancel{}, Response: schema.Event{}, Returns: "the event with its new status; unchanged if it was cancelled before",
		Errors: append([]error{schema.ErrForbidden}, cancelErrors...), Examples: Examples{Response: []string{"v2.Event.cancelled"}},
	},
	{
		Method: "POST", Path: schema.PathExtend, Access: schema.AccessDecide, Summary: "Extend a deadline",
		Description: "Extends or removes the deadline of a question. The agent is notified.",
		Request:     schema.Extend{}, Response: schema.Event{}, Returns: "the event with its new deadline",
		Errors:   []error{schema.ErrNoQuestion, schema.ErrWrongAnswer, schema.ErrDecided, schema.ErrExpired},
		Examples: Examples{Response: pendingExample},
	},
	{
		Method: "POST", Path: schema.PathExecution, Access: schema.AccessAsker, Summary: "Report the execution of a call",
		Description: "Reports the start or the outcome of an approved call, with the request secret of its question. The first outcome is kept.",
		Request:     schema.CallReport{}, Response: schema.Event{}, Returns: "the event with its execution",
		Errors: []error{schema.ErrForbidden, schema.ErrNoQuestion, schema.ErrUndecided}, Examples: Examples{Response: answeredExample},
	},
	{
		Method: "GET", Path: schema.PathResponse, Access: schema.AccessRead, Summary: "Wait for an answer",
		Description: "Long poll for the answer to a question, for agents without a listener.",
		Query: []Param{
			{"wait", "seconds to wait for an answer"},
			{"rejected", "the result by which the agent rejected the answer, mismatch or untrusted as in an Ack; requires the secret"},
		},
		Headers:  []Param{{schema.SecretHeader, "requestSecret of the question; marks the caller as the agent"}},
		Response: schema.Answer{}, Returns: "the answer", Also: map[int]string{204: "the rejection was noted; or there is no answer yet, and the header Hookback-Expires-In has the time left, in seconds, or never"},
		Errors:   []error{schema.ErrForbidden, schema.ErrNoQuestion, schema.ErrExpired},
		Examples: Examples{Response: []string{"v2.Answer.edited", "v2.Answer.timeout", "v2.Answer.voted"}},
	},
	{
		Method: "GET", Path: schema.PathStream, Access: schema.AccessRead, Summary: "Follow the log",
		Description: "WebSocket stream of all events as they are stored. The messages are Frame, and a version 2 message may be an array of frames. Behind a proxy without WebSockets, v=2 with poll is a long poll for the next frames, which answers after 15 s at the latest.",
		Query: []Param{
			{"v", "2 for resumable frames"}, {"after", "version 2: resume after this seq"}, {"hub", "version 2: the hubId that the seq belongs to"},
			{"epoch", "version 2: the epoch of the hello before that seq"},
			{"poll", "version 2, without a WebSocket: start, then poll of the last frame; after, hub and epoch as above"},
		},
		Ranges:  map[string]Range{"after": {0, Unbounded, -1}},
		Returns: "with poll, a version 2 message, an array of frames; otherwise the dashboard, for a browser that opens the path as a page", Also: map[int]string{101: "the WebSocket", 426: "the request is not a WebSocket handshake"},
	},
}
