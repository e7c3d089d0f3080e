package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

// This file is the only one that depends on the storage engines. -db names a database file of
// SQLite, with or without the prefix sqlite:, or the address of a PostgreSQL database.

func isPostgres(db string) bool { return postgres.IsDSN(db) }

// openStore opens the database, and creates it if missing. It sets the clock of the hub if there is none
// yet: hubs of one PostgreSQL database use its clock.
func openStore(ctx context.Context, cfg *Config, port int, commits store.CommitObserver) (store.Store, error) {
	if !isPostgres(cfg.DB) {
		cfg.Clock = cfg.clock()
		s, err := sqlite.Open(ctx, sqlite.Config{Path: cfg.DB, Clock: cfg.Clock, Log: cfg.logger(), Commits: commits})
		return s, cfg.explainOwner(err)
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the hub's key: %w", err)
	}
	s, err := postgres.Open(ctx, postgres.Config{
		DSN: cfg.DB, KeyFile: KeyFile(*cfg), Clock: cfg.Clock, Log: cfg.logger(), Commits: commits,
		Name: fmt.Sprintf("%s:%d", machineName(), port), Version: cfg.Version, Bus: cfg.Bus == notifyBus, Machine: machineID(),
	})
	if err == nil && cfg.Clock == nil {
		cfg.Clock = s.Now
	}
	return s, cfg.explainOwner(err)
}

// explainOwner adds the remedy to the error for a file of another account: the hub was started as
// another user, or the user of its container has changed.
func (cfg *Config) explainOwner(err error) error {
	var denied *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &denied) {
		return err
	}
	place, files := denied.Path, databaseFile(cfg)+"*"
	info, statErr := os.Lstat(place)
	if statErr != nil { // it does not exist yet
		place = filepath.Dir(place)
		files = place
		info, statErr = os.Lstat(place)
	}
	if statErr != nil {
		return err
	}
	owner, self, remedy := socket.Owner(info), os.Geteuid(), "let an administrator run"
	switch {
	case owner < 0, owner == self:
		return err
	case owner > 0: // not as root
		remedy = fmt.Sprintf("run the hub as user id %d, or %s", owner, remedy)
	}
	return fmt.Errorf("%w; %s belongs to user id %d, and the hub runs as user id %d; nothing was changed; %s: chown %d %s",
		err, place, owner, self, remedy, self, files)
}

// checkDatabase refuses databases of other systems.
func checkDatabase(db string) error {
	if scheme, _, ok := strings.Cut(db, "://"); ok && !isPostgres(db) {
		return fmt.Errorf("-db: %q is not supported; use a file or postgres://", scheme+"://…")
	}
	return nil
}

// The values of -bus.
const (
	notifyBus = "notify"
	noBus     = "none"
)

// checkBus refuses unknown values, and any value with SQLite.
func checkBus(value, db string) error {
	switch {
	case value == "":
		return nil
	case !isPostgres(db):
		return errors.New("-bus needs -db postgres://…: only hubs of one PostgreSQL database have a bus")
	case value != notifyBus && value != noBus:
		return errors.New("-bus: must be notify or none")
	default:
		return nil
	}
}

// databaseName returns the database for people, without a password.
func (cfg *Config) databaseName() string {
	if isPostgres(cfg.DB) {
		return postgres.Redact(cfg.DB)
	}
	return cfg.DB
}

// requireFile refuses a command that works on a database file, and names the replacement.
func requireFile(cfg *Config, command, instead string) error {
	if !isPostgres(cfg.DB) {
		return nil
	}
	return fmt.Errorf("%s works on a database file; %s", command, instead)
}

// databaseFile returns the name of the database's file. The files next to it have its name: with
// PostgreSQL they are in the data directory.
func databaseFile(cfg *Config) string {
	if isPostgres(cfg.DB) {
		return filepath.Join(cfg.DataDir, "postgres")
	}
	return strings.TrimPrefix(cfg.DB, "sqlite:")
}

// Backup copies the database to file. A hub may be using the database.
func Backup(ctx context.Context, cfg Config, file string) error {
	instead := fmt.Sprintf("run this instead, and keep a copy of %s in another place:\n\n  pg_dump --format=custom --file=%s '%s'", KeyFile(cfg), file, cfg.databaseName())
	if err := requireFile(&cfg, "backup", instead); err != nil {
		return err
	}
	if err := sqlite.Backup(ctx, cfg.DB, file); err != nil {
		return fmt.Errorf("back up %s: %w", cfg.DB, err)
	}
	return nil
}

// Rescue copies a database whose file was removed while a hub runs to file. The report is written
// for users.
func Rescue(ctx context.Context, cfg Config, file string) (report string, err error) {
	if err := requireFile(&cfg, "rescue", "the files of PostgreSQL belong to its server"); err != nil {
		return "", err
	}
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
	instead := fmt.Sprintf("run pg_amcheck '%s' for the pages, and hookback verify for the audit log", cfg.databaseName())
	if err := requireFile(&cfg, "check", instead); err != nil {
		return "", err
	}
	if err := sqlite.Check(ctx, cfg.DB); err != nil {
		return "", fmt.Errorf("%s: %w", cfg.DB, err)
	}
	ledger, err := sqlite.CheckLedger(ctx, cfg.DB)
	if err != nil {
		return "", fmt.Errorf("%s: %w; keep a copy of the file, and compare it with a backup, a noted head or hookback verify on another machine", cfg.DB, err)
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

// machineName returns the name of this machine.
func machineName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "the hub's machine"
	}
	return name
}

// machineID identifies what loopback addresses mean for this hub: the machine since it started, and on
// Linux the network of the process. Two containers have the same kernel and different networks, and cloned
// machines have the same name.
func machineID() string {
	id := []string{machineName()}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id = append(id, strings.TrimSpace(string(boot)))
	}
	if network, err := os.Readlink("/proc/self/ns/net"); err == nil {
		id = append(id, network)
	}
	return strings.Join(id, " ")
}

const (
	// maxClockJump is how far the clock may be ahead of the newest event when the hub starts, or
	// advance more than the hub has run.
	maxClockJump = 24 * time.Hour
	// clockTrial is how long the hub runs before it trusts a clock that jumped.
	clockTrial = time.Hour
)

// retentionClock decides whether retention may believe the wall clock. A clock that is 40 days ahead
// makes every event too old.
type retentionClock struct {
	expected time.Time // wall time at the last check, at first that of the newest event; zero: unknown
	checked  time.Time // monotonic time of the last check; zero: there was none
	doubted  time.Time // monotonic time since which the clock is in doubt; zero: it is not
	trusts   bool      // regardless of the clock
}

// check compares the wall clock with the time that has passed; running is monotonic. A new doubt
// comes with the size of the jump.
func (c *retentionClock) check(wall, running time.Time) (trusted bool, jump time.Duration) {
	wall = wall.Round(0) // without its monotonic part
	if c.trusts {
		return true, 0
	}
	if !c.expected.IsZero() {
		jump = wall.Sub(c.expected)
	}
	if !c.checked.IsZero() {
		jump -= running.Sub(c.checked)
	}
	c.expected, c.checked = wall, running
	if jump > maxClockJump {
		c.doubted = running
		return false, jump
	}
	return c.doubted.IsZero() || running.Sub(c.doubted) >= clockTrial, 0
}
