package postgres

import (
	"context"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// nameCondition is a condition on one of an event's names, as a set of names.
type nameCondition struct {
	column  string
	kind    nameKind
	negated bool
	names   []string
}

// Bounds on the names of a kind that are matched, and on the names in a statement. Beyond
// them the name is compared for each event.
const (
	maxScannedNames = 50_000
	maxNames        = 200
)

// nameConditions resolves the names of a filter to stored ones. Filters ignore case and accept *, so
// a name can match many.
func (s *engine) nameConditions(ctx context.Context, names []filter.Name) (conditions []nameCondition, err error) {
	kinds := map[string]nameKind{"app": appName, "session": sessionName, "type": typeName, "tool": toolName}
	for _, n := range names {
		condition := nameCondition{column: n.Key, kind: kinds[n.Key], negated: n.Negated}
		var complete bool
		if condition.names, complete, err = s.matchingNames(ctx, condition.kind, &n); err != nil {
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
	queryNames = `SELECT name FROM (SELECT name FROM names WHERE kind = $1 ORDER BY first DESC LIMIT $2) newest
		WHERE name ILIKE $3 OR octet_length(name) > char_length(name) LIMIT $2`
	queryCountNames = `SELECT count(*) FROM (SELECT 1 FROM names WHERE kind = $1 LIMIT $2) counted`
)

// matchingNames returns the names that match n. complete is false if there are too many names or
// matches.
func (s *engine) matchingNames(ctx context.Context, k nameKind, n *filter.Name) (names []string, complete bool, err error) {
	var count int
	if err := s.readers.get(ctx, []any{&count}, queryCountNames, k, maxScannedNames+1); err != nil || count > maxScannedNames {
		return nil, false, err
	}
	rows, err := s.readers.query(ctx, queryNames, k, maxScannedNames, kit.LikeFragments(n.Fragments()))
	found, err := collect(rows, err, scanColumn[string])
	for _, name := range found {
		if n.Matches(name) {
			names = append(names, name)
		}
	}
	return names, len(names) <= maxNames, err
}

// matchesNothing reports whether no event can match. An event without a top-level tool
// name may have one in its payload.
func (c nameCondition) matchesNothing() bool {
	return !c.negated && len(c.names) == 0 && c.column != "tool"
}

// add adds the condition for a table with name columns, starting with AND.
func (c nameCondition) add(b *sqlBuilder, table string) {
	column := table + "." + c.column
	condition := column + ` = ANY(?)`
	if c.negated {
		condition = column + ` <> ALL(?)`
	}
	if c.column == "tool" {
		condition = `(` + column + ` = '' OR ` + condition + `)`
	}
	b.add(` AND `+condition, append([]string{}, c.names...))
}
