package sqlite

import (
	"context"
	"errors"

	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	err := s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error { return t.Apply(&c) }})
	if errors.Is(err, store.ErrConflict) {
		return s.ExplainConflict(ctx, c.Event.ID)
	}
	return err
}
