package tables

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) Document(ctx context.Context, name string, document any) error {
	_, err := t.ReadOne(ctx, []any{JSONBytes(document)}, `SELECT settings FROM hub_settings WHERE name = $1`, name)
	return err
}

func (t *Tables) SetDocument(ctx context.Context, name string, document any, by string) error {
	return t.change(ctx, Essential|Policy, func(w *Work) {
		w.do(`INSERT INTO hub_settings (name, settings) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`, name, JSONBytes(document))
		w.record(store.LedgerRecord{Action: name + ".changed", Actor: by, Data: document})
	})
}
