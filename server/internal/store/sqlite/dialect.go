package sqlite

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// The statements of package tables are PostgreSQL's. A comment /*! … */ has text for SQLite only, like a hint
// to use an index; between the comments /*[*/ and /*]*/ is text for PostgreSQL only. An array is a JSON array here,
// and names of events are numbers of the dictionary.

var (
	spellings = strings.NewReplacer(
		"/*!", "", "*/", "", "::bigint", "", "::text", "", "LIMIT ALL", "LIMIT -1",
		"greatest(", "max(", "least(", "min(", "strpos(", "instr(",
		" ILIKE ", " LIKE ", ` COLLATE "C"`, "", "encode(", "CAST(", ", 'escape')", " AS TEXT)",
	)
	postgresOnly = regexp.MustCompile(`(?s)/\*\[\*/.*?/\*\]\*/`)
	parameter    = regexp.MustCompile(`\$\d+`)
	arrayMember  = regexp.MustCompile(`(=|<>) (ANY|ALL)\((\$\d+)\)`)
)

// translate returns a statement in SQLite's SQL.
func translate(query string) string {
	query = spellings.Replace(postgresOnly.ReplaceAllString(query, ""))
	query = arrayMember.ReplaceAllStringFunc(query, func(match string) string {
		parts := arrayMember.FindStringSubmatch(match)
		if parts[1] == "<>" {
			return "NOT IN (SELECT value FROM json_each(" + parts[3] + "))"
		}
		return "IN (SELECT value FROM json_each(" + parts[3] + "))"
	})
	for i, name := range parameter.FindAllString(query, -1) {
		if name != "$"+strconv.Itoa(i+1) {
			return query
		}
	}
	return parameter.ReplaceAllString(query, "?") // the driver allocates the name of each parameter that has one
}

// translateArgs replaces the arrays and the names in the arguments of a statement.
func (s *statements) translateArgs(ctx context.Context, args []any) (_ []any, err error) {
	for i, arg := range args {
		switch v := arg.(type) {
		case []int64, []string, []schema.EventID:
			args[i] = jsonArray(v)
		case tables.NameList:
			args[i] = jsonArray(v.Numbers)
		case tables.Name:
			if args[i], err = s.names.number(ctx, s, v); err != nil {
				return nil, err
			}
		}
	}
	return args, nil
}

func jsonArray(list any) string {
	text, _ := json.Marshal(list) // lists of numbers and texts always encode
	return string(text)
}
