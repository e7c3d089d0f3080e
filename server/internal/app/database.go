package app

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

// This file is the only one that knows the storage engine. -db names a database file of
// SQLite, with or without the prefix sqlite:.

// openStore opens the database, and creates it if missing.
func openStore(ctx context.Context, cfg *Config, commits store.CommitObserver) (store.Store, error) {
	return sqlite.Open(ctx, sqlite.Config{Path: cfg.DB, Clock: cfg.Clock, Log: cfg.logger(), Commits: commits})
}

// changeKey replaces the key of a database that no hub has open.
func changeKey(ctx context.Context, cfg *Config, change *store.KeyChange) error {
	return sqlite.ChangeKey(ctx, sqlite.Config{Path: cfg.DB, Clock: cfg.Clock, Log: cfg.logger()}, change)
}

// databaseFile returns the name of the database's file.
func databaseFile(cfg *Config) string { return strings.TrimPrefix(cfg.DB, "sqlite:") }

// Backup copies the database to file. A hub may be using the database.
func Backup(ctx context.Context, cfg Config, file string) error {
	if err := sqlite.Backup(ctx, cfg.DB, file); err != nil {
		return fmt.Errorf("back up %s: %w", cfg.DB, err)
	}
	return nil
}

// Rescue copies a database whose file was removed while a hub runs to file. The report is written
// for users.
func Rescue(ctx context.Context, cfg Config, file string) (report string, err error) {
	copied, err := sqlite.Rescue(ctx, cfg.DB, file)
	if err != nil {
		return "", fmt.Errorf("rescue %s: %w", cfg.DB, err)
	}
	report = fmt.Sprintf("Database of process %d copied to %s: %d events, the newest is %d, and no corruption.\n", copied.PID, file, copied.Events, copied.Newest)
	if _, err := os.Stat(KeyFile(cfg)); err != nil {
		report += fmt.Sprintf("The hub's key %s is gone, too. Restore it, or run hookback-server key new after the next steps.\n", KeyFile(cfg))
	}
	report += fmt.Sprintf("Stop the hub now, move the remaining files of the database away, move the copy to %s, and start the hub again.\n", databaseFile(&cfg))
	return report, nil
}

// KeyFile returns the name of the file with the hub's key, which a backup does not contain.
func KeyFile(cfg Config) string { return identity.File(databaseFile(&cfg)) }

// Check reads the whole database. It reports corruption, and changes of the audit log that the
// hub did not make. The report of an intact database is written for users.
func Check(ctx context.Context, cfg Config) (report string, err error) {
	if err := sqlite.Check(ctx, cfg.DB); err != nil {
		return "", fmt.Errorf("%s: %w", cfg.DB, err)
	}
	ledger, err := sqlite.CheckLedger(ctx, cfg.DB)
	if err != nil {
		return "", fmt.Errorf("%s: %w; keep a copy of the file, and compare it with a backup, a witness or hookback verify on another machine", cfg.DB, err)
	}
	report = fmt.Sprintf("No corruption found in %s.\n", cfg.DB)
	if ledger.KeyID == "" {
		return report, nil
	}
	report += fmt.Sprintf("The audit log has %d entries and an intact hash chain. Key %s signed it up to entry %d.\n", ledger.Entries, ledger.KeyID, ledger.Signed)
	if !ledger.HasKey {
		report += fmt.Sprintf("%s is not here: make sure that %s is the key id that your hub prints when it starts.\n", KeyFile(cfg), ledger.KeyID)
	}
	return report, nil
}
