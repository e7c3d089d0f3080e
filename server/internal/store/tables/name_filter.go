package tables

import (
	"context"

	"github.com/hookback/hookback/server/internal/filter"
)

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
