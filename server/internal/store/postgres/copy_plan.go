package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// copyColumn is a column to copy.
type copyColumn struct {
	name, kind string // kind is the type's name in PostgreSQL
	isUnique   bool   // part of a unique index
	isIdentity bool   // its numbers come from a sequence
}

// copyTable is a table to copy.
type copyTable struct {
	name    string
	columns []copyColumn
	key     []string // of the primary key
	order   string   // the primary key, if it is one number: the rows are compared in its order; else empty
}

const queryCopyColumns = `SELECT c.relname, a.attname, t.typname, a.atthasdef OR a.attidentity <> '' OR NOT a.attnotnull, a.attidentity <> '',
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey)),
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey))
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		JOIN pg_type t ON t.oid = a.atttypid
	WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
	ORDER BY c.relname <> 'hub', c.relname, a.attnum`

// planCopy lists the tables that the source has. The first one is hub: its row keeps a hub from starting.
func planCopy(ctx context.Context, conn *pgx.Conn, source store.CopySource) ([]copyTable, error) {
	var plan []copyTable
	rows, err := conn.Query(ctx, queryCopyColumns)
	err = eachRow(rows, err, func(rows tables.Rows) error {
		var table string
		var c copyColumn
		var isOptional, isKey bool
		if err := rows.Scan(&table, &c.name, &c.kind, &isOptional, &c.isIdentity, &c.isUnique, &isKey); err != nil {
			return err
		}
		given := source.Columns(table)
		if given == nil {
			return nil
		}
		if len(plan) == 0 || plan[len(plan)-1].name != table {
			plan = append(plan, copyTable{name: table})
		}
		t := &plan[len(plan)-1]
		if isKey {
			t.key = append(t.key, c.name)
		}
		switch {
		case slices.Contains(given, c.name):
			t.columns = append(t.columns, c)
		case !isOptional:
			return fmt.Errorf("the file has nothing for the column %s of the table %s", c.name, table)
		}
		return nil
	})
	for i := range plan {
		plan[i].setOrder()
	}
	return plan, err
}

func (t *copyTable) setOrder() {
	for _, c := range t.columns {
		if len(t.key) == 1 && c.name == t.key[0] && c.kind == "int8" {
			t.order = c.name
		}
	}
}

func (t *copyTable) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// insertQuery returns a statement that inserts one row whose key may be taken. It returns whether
// the row is new, or no row.
func (t *copyTable) insertQuery() string {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	var added []string
	for _, column := range tables.SumColumns[t.name] {
		added = append(added, fmt.Sprintf(`%[1]s = t.%[1]s + excluded.%[1]s`, column))
	}
	if t.name == "tool_histograms" { // whose readers add the parts
		added = []string{`bins = concat_ws(';', nullif(t.bins, ''), nullif(excluded.bins, ''))`}
	}
	action := `ON CONFLICT DO NOTHING`
	if added != nil {
		action = `ON CONFLICT (` + strings.Join(t.key, ", ") + `) DO UPDATE SET ` + strings.Join(added, ", ")
	}
	return fmt.Sprintf(`INSERT INTO %s AS t (%s) VALUES (%s) %s RETURNING xmax = 0`,
		t.name, strings.Join(t.names(), ", "), strings.Join(places, ", "), action)
}
