package postgres

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// Limits of FilterOptions: session IDs, and names of any other kind.
const (
	maxListedSessions = 300
	maxListedNames    = 1000
)

const (
	queryNamesInOrder = `SELECT name FROM names WHERE kind = $1 ORDER BY name LIMIT $2`
	queryNamesNewest  = `SELECT name FROM names WHERE kind = $1 ORDER BY first DESC LIMIT $2`
)

func (s *engine) FilterOptions(ctx context.Context) (schema.FilterOptions, error) {
	var o schema.FilterOptions
	for _, list := range []struct {
		dest *[]string
		kind nameKind
	}{{&o.SourceApps, appName}, {&o.HookEventTypes, typeName}, {&o.ToolNames, toolName}, {&o.SessionIDs, sessionName}} {
		query, limit := queryNamesInOrder, maxListedNames
		if list.kind == sessionName {
			query, limit = queryNamesNewest, maxListedSessions
		}
		rows, err := s.readers.query(ctx, query, list.kind, limit)
		if *list.dest, err = scanTexts(rows, err); err != nil {
			return schema.FilterOptions{}, err
		}
	}
	o.SourceApps = slices.DeleteFunc(o.SourceApps, kit.IsTestApp)
	return o, nil
}
