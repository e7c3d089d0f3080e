package history

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// PathReport is the path of what happened since a time.
const PathReport = "/api/report"

// MaxReportAge limits how far back a report goes.
const MaxReportAge = 31 * 24 * time.Hour

// ReportKind is the subject of a line of a report.
type ReportKind string

// The kinds, in the order of a report: one line each.
const (
	ReportWaiting  ReportKind = "waiting"  // requests that wait for an answer now, whenever they were asked
	ReportExpired  ReportKind = "expired"  // requests that got no answer in time
	ReportFinished ReportKind = "finished" // turns of agents that ended
	ReportRefused  ReportKind = "refused"  // tool calls that were refused, by anyone
	ReportUnasked  ReportKind = "unasked"  // tool calls of medium risk or more that ran without a question
	ReportFailed   ReportKind = "failed"   // events that report an error
	ReportLoops    ReportKind = "loops"    // runs of equal calls, or of equal failures: see the defaults of AlertLoop
	ReportCost     ReportKind = "cost"     // that agents reported, from the start of the quarter-hour of Since
)

// Report is the response of GET /api/report: what happened from Since up to Until.
type Report struct {
	Since schema.Millis `json:"since"`
	Until schema.Millis `json:"until"` // exclusive
	// KnownFrom is set if the hub has removed events of the range: the time of the oldest that it keeps.
	KnownFrom schema.Millis `json:"knownFrom,omitempty"`
	Lines     []ReportLine  `json:"lines"`             // at most 8; a line without rows is left out
	Checked   bool          `json:"checked,omitempty"` // each line was counted a second time
}

// ReportLine is a number and the rows that it counts. Number and Text together are a sentence without its period.
type ReportLine struct {
	Kind    ReportKind `json:"kind" jsonschema:"enum=waiting,enum=expired,enum=finished,enum=refused,enum=unasked,enum=failed,enum=loops,enum=cost"`
	Count   int64      `json:"count,omitempty"`   // rows of the list at Link; absent for a cost
	CostUSD float64    `json:"costUsd,omitempty"` // the sum of the rows of the list at Link
	AtLeast bool       `json:"atLeast,omitempty"` // there is more history than the hub reads for one request
	Number  string     `json:"number"`            // such as: 3 requests
	Text    string     `json:"text"`              // such as: wait for an answer: api, docs; the oldest for 3 h 12 min
	Link    string     `json:"link"`              // path and query of a screen of the dashboard
	// Oldest is when the oldest of the waiting requests was asked.
	Oldest schema.Millis `json:"oldest,omitempty"`
	// Differs is the result of the second count, if it is not this number.
	Differs string `json:"differs,omitempty"`
}
