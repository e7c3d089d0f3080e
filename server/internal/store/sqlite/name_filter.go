package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// nameCondition is a condition on one of an event's names, as a set of IDs.
type nameCondition struct {
	column  string
	negated bool
	ids     []int64
}

// Bounds on the names of a kind that are matched, and on the IDs in a statement. Beyond
// them the name is compared for each event.
const (
	maxScannedNames = 50_000
	maxNameIDs      = 200
)

// nameConditions resolves names to IDs. Filters ignore case and accept *, so a name can
// match many IDs.
func (s *engine) nameConditions(ctx context.Context, names []filter.Name) (conditions []nameCondition, err error) {
	kinds := map[string]nameKind{"app": appName, "session": sessionName, "type": typeName, "tool": toolName}
	for _, n := range names {
		condition := nameCondition{column: n.Key, negated: n.Negated}
		var complete bool
		if condition.ids, complete, err = s.matchingNameIDs(ctx, kinds[n.Key], &n); err != nil {
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
	queryNames = `SELECT id, name FROM (SELECT id, name FROM names WHERE kind = ? ORDER BY id DESC LIMIT ?)
		WHERE name LIKE ? ESCAPE '\' OR length(CAST(name AS BLOB)) > length(name) LIMIT ?`
	queryCountNames = `SELECT count(*) FROM (SELECT 1 FROM names WHERE kind = ? LIMIT ?)`
)

// matchingNameIDs returns the IDs of the names that match n. complete is false if there
// are too many names or matches.
func (s *engine) matchingNameIDs(ctx context.Context, k nameKind, n *filter.Name) (ids []int64, complete bool, err error) {
	var count int
	if err := s.readers.get(ctx, []any{&count}, queryCountNames, k, maxScannedNames+1); err != nil || count > maxScannedNames {
		return nil, false, err
	}
	rows, err := s.readers.query(ctx, queryNames, k, maxScannedNames, kit.LikeFragments(n.Fragments()), maxScannedNames)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() && len(ids) <= maxNameIDs {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, false, err
		}
		if n.Matches(text) {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) <= maxNameIDs, rows.Err()
}

// matchesNothing reports whether no event can match. An event without a top-level tool
// name may have one in its payload.
func (c nameCondition) matchesNothing() bool {
	return !c.negated && len(c.ids) == 0 && c.column != "tool"
}

// sql returns the condition for a table with name columns, starting with AND.
func (c nameCondition) sql(table string) string {
	ids := make([]string, len(c.ids))
	for i, id := range c.ids {
		ids[i] = strconv.FormatInt(id, 10)
	}
	in := "IN"
	if c.negated {
		in = "NOT IN"
	}
	condition := fmt.Sprintf("%s.%s %s (%s)", table, c.column, in, strings.Join(ids, ", "))
	if c.column == "tool" {
		condition = fmt.Sprintf("(%s.tool = 0 OR %s)", table, condition)
	}
	return " AND " + condition
}
