package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/filter"
)

// History answers queries about the log.
type History interface {
	// Stats counts rows without reading the events, and measures the disk.
	Stats(ctx context.Context) (Stats, error)

	// Find returns the events that f selects, oldest first: the newest f.Limit matches or,
	// with Oldest or After, the oldest. The default limit is schema.RecentLimit.
	//
	// A page may be short if the matches are far apart or big. Continue before its oldest
	// event (with Oldest or After, after its newest). A page is empty only if nothing
	// matches within the next million events that have all names of f (for a text, the next
	// hundred thousand).
	//
	// Text is searched in the question and in the event's JSON as sent, ignoring the case
	// of ASCII letters.
	Find(ctx context.Context, f Filter) ([]*Event, error)

	// Search returns the matches that it finds within the time limit q.Timeout. Continue from
	// SearchedTo until the result is Complete. Every call makes progress, however short its
	// limit.
	//
	// The part of the log that the search index does not cover yet is searched row by row.
	Search(ctx context.Context, q Search) (SearchPage, error)

	// FilterOptions returns the values that Find can filter by, sorted; of session IDs the
	// 300 newest, newest first. It reads no events.
	FilterOptions(ctx context.Context) (schema.FilterOptions, error)

	// Inbox returns questions in list form, newest first, and reports whether there are more.
	Inbox(ctx context.Context, f InboxFilter) (questions []*Event, more bool, err error)

	// InboxCounts returns the totals of all questions, except Days and Counts, which come
	// from InboxDays. WaitingOnMe counts the questions that wait for the person awaiting or
	// for everyone; with an empty awaiting, only the latter.
	InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error)

	// InboxDays counts the questions asked between each pair of consecutive edges, by status.
	InboxDays(ctx context.Context, edges []time.Time, agents []string) ([]inbox.HitlCounts, error)

	// Recount counts the rows of a report (history.Report) from since to until, until exclusive, by statements that
	// no list uses.
	Recount(ctx context.Context, since, until time.Time) (Recount, error)
}

// Recount is the second count of a report.
type Recount struct {
	Rows    map[history.ReportKind]int64 // of the kinds that a statement can count
	CostUSD float64
}

// Filter selects events. Zero values select everything.
type Filter struct {
	App, Session, Type, Tool string
	Status                   string // pending, responded, timeout, error, undelivered
	Text                     string
	From, To                 time.Time // range of ReceivedAt, To exclusive
	Before, After            schema.EventID
	Limit                    int
	Oldest                   bool // return the oldest matches rather than the newest; implied by After
}

// Undelivered is the Filter.Status of questions whose answer may not have reached the
// agent.
const Undelivered = "undelivered"

// InboxFilter selects questions for an inbox. Zero values select everything.
type InboxFilter struct {
	Status   inbox.HitlStatus
	Agents   []string // any of these source_app names
	Awaiting string   // pending questions that wait for this person or for everyone
	// Everyone selects pending questions that wait for everyone; implied by Awaiting.
	Everyone bool
	From, To time.Time      // time of the question, To exclusive
	Before   schema.EventID // zero: start at the newest
	Limit    int
}

// Search is a search of the log with a filter expression.
type Search struct {
	Filter        *filter.Filter
	From, To      time.Time // range of ReceivedAt, To exclusive
	Before, After schema.EventID
	Oldest        bool // search upwards, oldest matches first; implied by After

	Limit    int           // matches; default schema.RecentLimit
	MaxBytes int           // total size of the matches, but at least one event; 0: unlimited
	Timeout  time.Duration // time limit; 0: none
}

// SearchPage is the result of a Search: all matches from its start to SearchedTo,
// inclusive, oldest first. Complete means that there are no more matches in that
// direction.
type SearchPage struct {
	Events     []*Event
	SearchedTo schema.EventID
	Complete   bool
}

// SessionFilter selects sessions. Zero values select everything.
type SessionFilter struct {
	App    string
	Person string
	// Text is searched in the title, the application, the session ID and the directory, then in the
	// newest transcripts.
	Text   string
	Before int64 // the position after the last page, as Sessions returned it
	Limit  int
}
