package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

// ChangeKey replaces the hub's key. The hub must not be running. If rotate is set, the old key signs
// the new one and agents follow; otherwise the old key may be lost or stolen. The report is written
// for users.
func ChangeKey(ctx context.Context, cfg Config, rotate bool) (report string, err error) {
	if err := requireFile(&cfg, "key", "the key of a hub on PostgreSQL can't be replaced yet"); err != nil {
		return "", err
	}
	if _, err := os.Stat(databaseFile(&cfg)); err != nil {
		return "", fmt.Errorf("find the database: %w", err)
	}
	change := store.KeyChange{Rotate: rotate}
	if err := sqlite.ChangeKey(ctx, sqlite.Config{Path: cfg.DB, Clock: cfg.Clock, Log: cfg.logger()}, &change); err != nil {
		if errors.Is(err, store.ErrLocked) {
			return "", fmt.Errorf("stop the hub first: %w", err)
		}
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("The hub's key is %s now; it was %s.", change.New, change.Old)
	if rotate {
		line("Agents that trust %s follow by themselves. Only /etc/hookback/hub.pub must be changed by hand:", change.Old)
	} else {
		line("Every agent must trust the hub again: run hookback trust URL, or change /etc/hookback/hub.pub:")
	}
	line("\n  %s ed25519 %s\n", cfg.origin(), change.PublicKey)
	if len(change.Channels) > 0 {
		line("Removed, because only the lost key could decrypt them: %s. Add these channels again.", strings.Join(change.Channels, ", "))
	}
	if change.Lost {
		line("Everyone must turn on notifications in their browsers again.")
	}
	line("Signed links in mails stop working. Keep a copy of %s in another place than the backups.", KeyFile(cfg))
	return b.String(), nil
}

// origin returns the hub's address for agents.
func (cfg *Config) origin() string {
	if cfg.PublicURL != "" {
		return strings.TrimSuffix(cfg.PublicURL, "/")
	}
	return cfg.baseURL(cfg.Addr)
}
