package sqlite

import (
	"encoding/json"
	"regexp"
	"strings"
)

// The statements of package tables are PostgreSQL's. A comment /*! … */ has text for SQLite only, like a hint
// to use an index. An array is a JSON array here.

var (
	spellings   = strings.NewReplacer("greatest(", "max(", "least(", "min(", "::bigint", "", "LIMIT ALL", "LIMIT -1", "/*!", "", "*/", "")
	arrayMember = regexp.MustCompile(`= ANY\((\$\d+)\)`)
)

// translate returns a statement in SQLite's SQL.
func translate(query string) string {
	return arrayMember.ReplaceAllString(spellings.Replace(query), "IN (SELECT value FROM json_each($1))")
}

// translateArgs replaces the arrays in the arguments of a statement.
func translateArgs(args []any) []any {
	for i, arg := range args {
		switch arg.(type) {
		case []int64, []string:
			text, _ := json.Marshal(arg) // these always encode
			args[i] = string(text)
		}
	}
	return args
}
