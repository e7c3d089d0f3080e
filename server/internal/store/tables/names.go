package tables

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
)

// NameKind is the kind of a name of events.
type NameKind int16

// The kinds, as stored in the table names.
const (
	AppName NameKind = iota + 1
	SessionName
	TypeName
	ToolName
)

// Name is an argument that is compared with a column of such names. An engine stores their text, or the
// numbers of a dictionary.
type Name struct {
	Kind NameKind
	Text string
}

// Names reads names as an engine stores them.
type Names interface {
	// NameColumn returns the destination that a name is scanned into: the number or the text.
	NameColumn(number *int64, text *string) any
	// NameText returns the text of a name that was scanned; empty if retention has removed it. Rows must be
	// closed before.
	NameText(ctx context.Context, kind NameKind, number int64, text string) (string, error)
}

// SegmentNames caches the names, in the form in which an engine stores them, that the table zones already lists for
// the newest segment of the log.
//
// An index per column would do the same as the name segments at three times the cost: it dirties a page per value
// and commit, the zone map a row per value and segment.
type SegmentNames[N comparable] struct {
	segment int64
	names   map[N]bool
}

// Add adds a name of an event, and reports whether it is new in its segment.
func (c *SegmentNames[N]) Add(seq int64, name N) (segment int64, isNew bool) {
	segment = seq >> NameSegmentBits
	if segment != c.segment || c.names == nil {
		c.segment, c.names = segment, map[N]bool{}
	}
	isNew = !c.names[name]
	c.names[name] = true
	return segment, isNew
}

// Clear empties the cache after a rollback.
func (c *SegmentNames[N]) Clear() { c.names = nil }

// readNames returns the texts of a column of names; an empty list rather than nil, which would encode to null.
func (t *Tables) readNames(ctx context.Context, kind NameKind, query string, args ...any) ([]string, error) {
	type name struct {
		number int64
		text   string
	}
	found, err := collect(ctx, t, func(n *name) []any { return []any{t.NameColumn(&n.number, &n.text)} }, query, args...)
	texts := make([]string, len(found))
	for i := range found {
		if err == nil {
			texts[i], err = t.NameText(ctx, kind, found[i].number, found[i].text)
		}
	}
	return texts, err
}

// Limits of FilterOptions: session IDs, and names of any other kind.
const (
	maxListedSessions = 300
	maxListedNames    = 1000
)

const (
	queryNamesInOrder = `SELECT name FROM names WHERE kind = $1 ORDER BY name LIMIT $2`
	queryNamesNewest  = `SELECT name FROM names WHERE kind = $1 ORDER BY id DESC LIMIT $2`
)

func (t *Tables) FilterOptions(ctx context.Context) (o schema.FilterOptions, err error) {
	for _, of := range []struct {
		dest  *[]string
		kind  NameKind
		query string
		limit int
	}{
		{&o.SourceApps, AppName, queryNamesInOrder, maxListedNames}, {&o.HookEventTypes, TypeName, queryNamesInOrder, maxListedNames},
		{&o.ToolNames, ToolName, queryNamesInOrder, maxListedNames}, {&o.SessionIDs, SessionName, queryNamesNewest, maxListedSessions},
	} {
		found, err := collect(ctx, t, column[string], of.query, of.kind, of.limit)
		if err != nil {
			return schema.FilterOptions{}, err
		}
		*of.dest = append([]string{}, found...)
	}
	o.SourceApps = slices.DeleteFunc(o.SourceApps, isTestApp)
	return o, nil
}
