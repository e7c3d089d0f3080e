package history

import "github.com/hookback/hookback/schema"

// EventSessionImported is the type of the event that hookback import sends for each session: its
// payload is an ImportedSession, and its chat the newest part of the transcript. A hub refuses the
// event for a session of which it has other events, and as a question. A later one for the same
// session replaces it. The session has the times of its payload, not that of the import; retention
// counts from them, too.
const EventSessionImported = "SessionImported"

// Limits of ImportedSession. A hub ignores what exceeds them.
const (
	MaxImportedUsage = 2000
	MaxImportedTools = 200
)

// ImportedSession is a session as its transcript records it.
type ImportedSession struct {
	Hash      string        `json:"hash"` // of the transcript; it changes if the session continues
	Title     string        `json:"title,omitempty"`
	Cwd       string        `json:"cwd,omitempty"`
	Branch    string        `json:"git_branch,omitempty"`
	Model     string        `json:"model,omitempty"` // the latest
	StartedAt schema.Millis `json:"started_at"`
	EndedAt   schema.Millis `json:"ended_at"`
	Agents    int64         `json:"subagents,omitempty"` // number of subagents

	Usage     []ImportedUsage `json:"usage,omitempty"`
	Tools     []ImportedTool  `json:"tools,omitempty"` // most used first
	Files     []ChangedFile   `json:"files,omitempty"` // the last changed first, without events
	MoreFiles int64           `json:"moreFiles,omitempty"`

	Lines           int64 `json:"lines"`                     // of the transcript
	UnreadableLines int64 `json:"unreadableLines,omitempty"` // not counted in anything else
	ChatCut         bool  `json:"chatCut,omitempty"`         // the chat leaves out the oldest lines, or lines that are too long
}

// ImportedUsage is the usage of a model in a quarter-hour.
type ImportedUsage struct {
	At       schema.Millis `json:"at"`
	Model    string        `json:"model,omitempty"` // empty: unknown
	Requests int64         `json:"requests,omitempty"`
	Tokens   Tokens        `json:"tokens"`
	CostUSD  float64       `json:"costUsd,omitempty"` // as the transcript states it, never estimated
}

// ImportedTool counts the ended calls of a tool.
type ImportedTool struct {
	Tool     string `json:"tool"`
	Calls    int64  `json:"calls"`
	Failures int64  `json:"failures,omitempty"`
}
