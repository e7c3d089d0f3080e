package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A database of schema 1 gets the new tables and keeps its log. The projector starts at
// the beginning.
func TestMigrate_KeepsLogOfFirstSchema(t *testing.T) {
	t.Parallel()
	file := newDatabaseOf(t, 1,
		`INSERT INTO names (stream_id, kind, id, name) VALUES (1, 1, 1, 'app'), (1, 2, 2, 's'), (1, 3, 3, 'Stop')`,
		`INSERT INTO events (stream_id, seq, uid, received_at, timestamp, app, session, type, tool, asks, envelope, payload)
			VALUES (1, 1, zeroblob(16), 5, 5, 1, 2, 3, 0, 0, x'', x'7b7d')`,
		`UPDATE streams SET head = 1, events = 1, received = 5, name = 3`,
	)
	b := newTestStore(t, func(c *Config) { c.Path = file })
	cursor, err := b.ProjectionCursor(t.Context())
	require.NoError(t, err)
	require.Zero(t, cursor)
	entries, upTo, err := b.LogEntries(t.Context(), cursor, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, upTo)
	require.Len(t, entries, 1)
	require.Equal(t, "app", entries[0].Event.App)
}
