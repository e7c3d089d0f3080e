package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

const copyHelp = `Moves a hub from its database file to PostgreSQL. Stop the hub first.

Usage:

  hookback-server copy [-from FILE] -to postgres://USER@HOST/DATABASE

  -from FILE
        the hub's database file; default: HOOKBACK_DB if it is a file, else hookback.db in your data directory
  -to ADDRESS
        an empty PostgreSQL database; default: HOOKBACK_DB, which keeps a password out of the list of processes

Everything is copied in one transaction and compared before it is committed: events, questions and answers, people, tokens, rules, the
audit log, and the hub's key, which becomes postgres.key in your data directory. Then the file is marked, so that no hub starts on it
any more. If the command is interrupted, run it again. There is no way back.
`

// runCopy runs hookback-server copy and returns its exit status.
func runCopy(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	cfg, from, err := parseCopy(args, env)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(stdout, copyHelp)
		return 0
	}
	if err == nil {
		err = copyDatabase(ctx, &cfg, from, stdout, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hookback-server copy:", err)
		return 1
	}
	return 0
}

// parseCopy returns the configuration of the hub on the target, and the source.
func parseCopy(args []string, env func(string) string) (cfg Config, from string, err error) {
	f := flag.NewFlagSet("copy", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&from, "from", "", "")
	f.StringVar(&cfg.DB, "to", "", "")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return cfg, "", err
		}
		return cfg, "", fmt.Errorf("%w; see hookback-server copy -help", err)
	}
	if f.NArg() > 0 {
		return cfg, "", fmt.Errorf("unknown argument %q; see hookback-server copy -help", f.Arg(0))
	}
	db := env("HOOKBACK_DB")
	if cfg.DB == "" && isPostgres(db) {
		cfg.DB = db
	}
	if from == "" && !isPostgres(db) {
		from = db
	}
	switch {
	case isPostgres(from):
		return cfg, "", errors.New("-from must be a database file: there is no copy back from PostgreSQL")
	case cfg.DB == "":
		return cfg, "", errors.New("-to is missing: name an empty database, postgres://USER@HOST/DATABASE")
	case !isPostgres(cfg.DB):
		return cfg, "", errors.New("-to must be a PostgreSQL database, postgres://USER@HOST/DATABASE; to copy a database file to another file, use hookback-server backup FILE")
	}
	source, err := Config{DB: from}.withDefaults(env)
	if err == nil {
		cfg, err = cfg.withDefaults(env)
	}
	return cfg, source.DB, err
}

// copyDatabase copies the database file from to cfg.DB, and marks it as moved.
func copyDatabase(ctx context.Context, cfg *Config, from string, stdout, stderr io.Writer) (err error) {
	source, err := sqlite.OpenCopySource(ctx, from)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("stop the hub first: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the hub's key: %w", err)
	}
	progress := copyProgress{out: stderr, next: time.Now().Add(time.Second)}
	report, err := postgres.Copy(ctx, postgres.CopyConfig{DSN: cfg.DB, KeyFile: KeyFile(*cfg), Log: cfg.logger()}, source, progress.show)
	if err != nil {
		return err
	}
	to := cfg.databaseName()
	if err := source.MarkMoved(context.WithoutCancel(ctx), to, cfg.clock()()); err != nil {
		return fmt.Errorf("%s has everything now, but %s could not be marked: %w; start no hub on the file, and run this command again", to, from, err)
	}
	if report.Repeated {
		_, _ = fmt.Fprintf(stdout, "%s has everything already: an earlier copy was complete, and only the mark was missing.\n", to)
	} else {
		_, _ = fmt.Fprintf(stdout, "Copied %s events and %s other rows to %s, and compared them.\n", withCommas(source.State().Events), withCommas(report.Rows-source.State().Events), to)
	}
	_, _ = fmt.Fprintf(stdout, "No hub starts on %s any more. Start the hub with this address in HOOKBACK_DB or -db.\nEach hub on this database needs the key %s. Keep a copy of it in another place than the backups.\n", from, KeyFile(*cfg))
	return nil
}

// copyProgress prints the progress of a copy, at most a line per second.
type copyProgress struct {
	out  io.Writer
	next time.Time
}

func (p *copyProgress) show(step store.CopyProgress) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(time.Second)
	done, of := "copied", ""
	if step.IsCheck {
		done = "compared"
	}
	if step.Total > 0 {
		of = " of " + withCommas(step.Total)
	}
	_, _ = fmt.Fprintf(p.out, "%s: %s%s rows %s\n", step.Table, withCommas(step.Rows), of, done)
}

// withCommas formats a number with commas.
func withCommas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
