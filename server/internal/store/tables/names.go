package tables

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
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

// nameTexts sets the texts of names that were scanned, which are of the first kinds.
func nameTexts(ctx context.Context, names Names, numbers []int64, texts ...*string) (err error) {
	for i, text := range texts {
		if *text, err = names.NameText(ctx, NameKind(i+1), numbers[i], *text); err != nil {
			return err
		}
	}
	return nil
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

// NameList is an argument that is compared with a column of names: those of a dictionary by their numbers.
type NameList struct {
	Numbers []int64
	Texts   []string
}

func (l *NameList) add(number int64, text string) {
	l.Numbers, l.Texts = append(l.Numbers, number), append(l.Texts, text)
}

// nameCondition is a condition on one of an event's names, as a set of names.
type nameCondition struct {
	column  string
	kind    NameKind
	negated bool
	names   NameList
}

// Bounds on the names of a kind that are matched, and on the names in a statement. Beyond
// them the name is compared for each event.
const (
	maxScannedNames = 50_000
	maxNames        = 200
)

// nameConditions resolves the names of a filter to stored ones. Filters ignore case and accept *, so
// a name can match many.
func (t *Tables) nameConditions(ctx context.Context, names []filter.Name) (conditions []nameCondition, err error) {
	kinds := map[string]NameKind{"app": AppName, "session": SessionName, "type": TypeName, "tool": ToolName}
	for _, n := range names {
		condition := nameCondition{column: n.Key, kind: kinds[n.Key], negated: n.Negated}
		var complete bool
		if condition.names, complete, err = t.matchingNames(ctx, condition.kind, &n); err != nil {
			return nil, err
		}
		if complete {
			conditions = append(conditions, condition)
		}
	}
	return conditions, nil
}

// queryNames selects names by an ASCII pattern, and all names that are not ASCII, which
// Go compares.
const (
	queryNames = `SELECT id, name FROM (SELECT id, name FROM names WHERE kind = $1 ORDER BY id DESC LIMIT $2) newest
		WHERE name ILIKE $3 /*!ESCAPE '\'*/ OR octet_length(name) > length(name)`
	queryCountNames = `SELECT count(*) FROM (SELECT 1 FROM names WHERE kind = $1 LIMIT $2) counted`
)

// matchingNames returns the names that match n. complete is false if there are too many names or
// matches.
func (t *Tables) matchingNames(ctx context.Context, kind NameKind, n *filter.Name) (names NameList, complete bool, err error) {
	var count int
	if _, err := t.ReadOne(ctx, []any{&count}, queryCountNames, kind, maxScannedNames+1); err != nil || count > maxScannedNames {
		return names, false, err
	}
	names = NameList{[]int64{}, []string{}} // nil would be NULL, which equals nothing and differs from nothing
	err = t.readSome(ctx, func(rows Rows) error {
		var number int64
		var text string
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		if n.Matches(text) {
			names.add(number, text)
		}
		if len(names.Texts) > maxNames {
			return errEnough
		}
		return nil
	}, queryNames, kind, maxScannedNames, likeFragments(n.Fragments()))
	return names, len(names.Texts) <= maxNames, err
}

// matchesNothing reports whether no event can match. An event without a top-level tool
// name may have one in its payload.
func (c nameCondition) matchesNothing() bool {
	return !c.negated && len(c.names.Texts) == 0 && c.column != "tool"
}

// add adds the condition for a table with name columns, starting with AND.
func (c nameCondition) add(b *sqlBuilder, table string) {
	if c.negated {
		b.add(` AND `+table+`.`+c.column+` <> ALL(?)`, c.names)
		return
	}
	if c.column == "tool" {
		c.names.add(0, "")
	}
	b.add(` AND `+table+`.`+c.column+` = ANY(?)`, c.names)
}
