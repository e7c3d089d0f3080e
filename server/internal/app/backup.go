package app

import (
	"context"
	"fmt"

	"github.com/hookback/hookback/server/internal/store"
)

// Backup copies the database to file, whether a hub has it open or not.
func Backup(ctx context.Context, cfg Config, file string) error {
	if err := store.BackupFile(ctx, cfg.DB, file); err != nil {
		return fmt.Errorf("%s was not backed up: %w", cfg.DB, err)
	}
	return nil
}
