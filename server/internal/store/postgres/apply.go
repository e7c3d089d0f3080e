package postgres

import (
	"context"
	"errors"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	err := s.writer.do(ctx, &op{
		run: func(t *tx) error {
			if isStale, _ := s.policy.isStale(); isStale && c.Authority != store.NoAuthority {
				return store.ErrPolicyChanged
			}
			return t.Apply(&c)
		},
		explain: func(guard tables.Guard) error {
			if err := tables.GuardError(guard); !errors.Is(err, store.ErrConflict) {
				return err
			}
			ctx, cancel := exchangeTimeout()
			defer cancel()
			return s.ExplainConflict(ctx, c.Event.ID)
		},
	})
	if errors.Is(err, store.ErrPolicyChanged) {
		s.policy.await(ctx)
	}
	return err
}
