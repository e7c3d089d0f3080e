package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// Backup copies the database to file. A hub may be using the database.
func Backup(ctx context.Context, cfg Config, file string) error {
	if err := store.BackupFile(ctx, cfg.DB, file); err != nil {
		return fmt.Errorf("back up %s: %w", cfg.DB, err)
	}
	return nil
}

// KeyFile returns the name of the file with the hub's key, which a backup does not contain.
func KeyFile(cfg Config) string { return identity.File(strings.TrimPrefix(cfg.DB, "sqlite:")) }

// Check reads the whole database and reports corruption.
func Check(ctx context.Context, cfg Config) error {
	if err := store.Check(ctx, cfg.DB); err != nil {
		return fmt.Errorf("%s: %w", cfg.DB, err)
	}
	return nil
}
