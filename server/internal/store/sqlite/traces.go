package sqlite

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
)

const queryTraceCursor = `SELECT count(*), coalesce(max(sent), 0), coalesce(max(resume), 0) FROM trace_cursor`

func (s *engine) TraceEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	return s.readEntries(ctx, seq, limit)
}

func (s *engine) TraceCursor(ctx context.Context) (cursor store.TraceCursor, isSet bool, err error) {
	err = s.readers.get(ctx, []any{&isSet, &cursor.Sent, &cursor.Resume}, queryTraceCursor)
	return cursor, isSet, err
}

func (s *engine) SetTraceCursor(ctx context.Context, cursor store.TraceCursor) error {
	return s.writer.exec(ctx, false, `INSERT OR REPLACE INTO trace_cursor (sent, resume) VALUES (?, ?)`, cursor.Sent, cursor.Resume)
}
