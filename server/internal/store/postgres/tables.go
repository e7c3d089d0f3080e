package postgres

import (
	"context"
	"errors"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tableEngine implements tables.Engine.
type tableEngine struct {
	textNames
	*tables.Queue
	s *engine
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	rows, err := e.s.readers.query(ctx, query, args...)
	return eachRow(rows, err, each)
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return tables.IsFound(e.s.readers.get(ctx, into, query, args...))
}

func (e tableEngine) Member() string { return e.s.Self() }

func (e tableEngine) Place() store.Place {
	self := &e.s.members.self
	return store.Place{Owner: self.ID, Machine: self.Machine}
}

func (e tableEngine) RequireCurrent(a store.Authority) error {
	if isStale, _ := e.s.policy.isStale(); isStale && a != store.NoAuthority {
		return store.ErrPolicyChanged
	}
	return nil
}

// textNames implements tables.Names.
type textNames struct{}

func (textNames) NameColumn(_ *int64, text *string) any { return text }

func (textNames) NameText(_ context.Context, _ tables.NameKind, _ int64, text string) (string, error) {
	return text, nil
}

// exec returns a function that executes statements on the writer's connection.
func (w *writer) exec(ctx context.Context) func(query string, args ...any) error {
	return func(query string, args ...any) error {
		_, err := w.conn.Exec(ctx, query, args...)
		return err
	}
}

// read returns the queries of the writer's connection.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.Query(ctx, query, args...)
		return eachRow(rows, err, each)
	}
}

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	err := s.Tables.Apply(ctx, c)
	if errors.Is(err, store.ErrPolicyChanged) {
		s.policy.await(ctx)
	}
	return err
}

// After catches up with the other hubs if one of them has committed a row that this hub does not know yet: its
// reader continues here.
func (s *engine) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	if seq > s.Head() {
		var commits, head int64
		if err := s.readers.get(ctx, []any{&commits, &head}, `SELECT commits, head FROM streams`); err != nil {
			return nil, err
		}
		if head >= seq {
			if err := s.writer.refreshTo(ctx, commits); err != nil {
				return nil, err
			}
		}
	}
	return s.Tables.After(ctx, seq, limit)
}
