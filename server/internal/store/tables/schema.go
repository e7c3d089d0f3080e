package tables

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed schema.sql
var schemaText string

// schemaWords are the words of schema.sql that an engine has other words for.
var schemaWords = map[goose.Dialect]*strings.Replacer{
	goose.DialectSQLite3: strings.NewReplacer("-- sqlite: ", "", "ONE_ROW", "INTEGER NOT NULL PRIMARY KEY DEFAULT 1 CHECK (one = 1)",
		"NAME_ID", "INTEGER", "NAME", "TEXT", "BOOL", "INTEGER", "DEFAULT FALSE", "DEFAULT 0"),
	goose.DialectPostgres: strings.NewReplacer("-- postgres: ", "", "ONE_ROW", "boolean PRIMARY KEY DEFAULT true CHECK (one)",
		"NAME_ID", `text COLLATE "C"`, "NAME", `text COLLATE "C"`, "BOOL", "boolean", "INTEGER", "bigint", "BLOB", "bytea",
		"REAL", "double precision", "X''", "''", ") WITHOUT ROWID, STRICT;", ");", ") STRICT;", ");"),
}

// otherEngine matches the lines that schemaWords left as comments: they are for the other engine.
var otherEngine = regexp.MustCompile(`(?m)^-- (sqlite|postgres): .*\n`)

// Schema returns the statements of schema.sql for an engine.
func Schema(engine goose.Dialect) string {
	return otherEngine.ReplaceAllString(schemaWords[engine].Replace(schemaText), "")
}
