// Package pgtest runs a real PostgreSQL server for tests. It starts one server per test program,
// in a temporary directory and reachable by a socket only, and gives each test a database of its
// own, copied from a template.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Migrate brings the empty database at dsn to the schema that tests expect.
type Migrate func(ctx context.Context, dsn string) error

// New returns the DSN of a new database with the schema of migrate, which runs once per test
// program. The database is removed when the test ends. Without PostgreSQL the test is skipped, or
// fails if CI is set.
func New(t testing.TB, migrate Migrate) (dsn string) {
	t.Helper()
	s, err := start()
	if errors.Is(err, errMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err == nil {
		err = s.prepareTemplate(migrate)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL for tests: %v", err)
	}
	name := "test_" + strings.ToLower(rand.Text()[:16])
	if err := s.exec(fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s`, name, templateName)); err != nil {
		t.Fatalf("create a database for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec(fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, name)); err != nil {
			t.Errorf("drop a database of tests: %v", err)
		}
	})
	return s.dsn(name)
}

const templateName = "hookback_template"

// server is a running PostgreSQL server.
type server struct {
	dir      string // of the socket
	mu       sync.Mutex
	migrated bool     // the template is complete
	alive    *os.File // the server ends when it is closed, also by the end of this process
}

func (s *server) dsn(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {"postgres"}}.Encode()
}

// exec executes a statement in the database postgres. Databases are copied one at a time, because
// nobody may be connected to the template.
func (s *server) exec(statement string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.execLocked(statement)
}

func (s *server) execLocked(statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func (s *server) prepareTemplate(migrate Migrate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.migrated {
		return nil
	}
	if err := s.execLocked(`CREATE DATABASE ` + templateName); err != nil {
		return err
	}
	if err := migrate(context.Background(), s.dsn(templateName)); err != nil {
		return err
	}
	s.migrated = true
	return nil
}

// errMissing means that there is no PostgreSQL on this machine.
var errMissing = errors.New("PostgreSQL was not found: run scripts/postgres.sh, or name the directory of its programs in HOOKBACK_TEST_PGBIN")

// binDir returns the directory with the programs of PostgreSQL.
func binDir() (string, error) {
	if dir := os.Getenv("HOOKBACK_TEST_PGBIN"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			return "", fmt.Errorf("HOOKBACK_TEST_PGBIN: %w", err)
		}
		return dir, nil
	}
	if file, err := exec.LookPath("initdb"); err == nil {
		// The programs find each other next to the file, not to a link.
		if file, err = filepath.EvalSymlinks(file); err == nil {
			return filepath.Dir(file), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if len(found) == 0 {
		return "", errMissing
	}
	version := func(file string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(file)))) // 0 sorts first
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// script runs the server until its standard input ends, which is when the test program ends, and
// removes its directory. Arguments: the directory of the programs, the server's directory.
const script = `set -e
bin=$1 dir=$2
trap '' INT TERM
"$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync >"$dir/log" 2>&1
printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" "max_connections = 200" "shared_buffers = 64MB" \
	"max_wal_size = 256MB" "log_min_messages = warning" >>"$dir/data/postgresql.conf"
"$bin/postgres" -D "$dir/data" </dev/null >>"$dir/log" 2>&1 &
server=$!
until "$bin/pg_isready" --quiet --host="$dir"; do
	kill -0 $server
done
echo ready
cat
kill -QUIT $server || true
wait $server || true
rm -rf "$dir"
`

var start = sync.OnceValues(func() (*server, error) {
	bin, err := binDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(dataParent(), "hookback-pg")
	if err != nil {
		return nil, err
	}
	alive, done, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, ready, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", script, "sh", bin, dir)
	cmd.Dir, cmd.Stdin, cmd.Stdout = dir, alive, ready
	if err := asServerUser(cmd, dir); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = alive.Close(), ready.Close()
	line := make([]byte, len("ready"))
	if n, _ := output.Read(line); string(line[:n]) != "ready" {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, fmt.Errorf("%s did not start: %s", bin, log)
	}
	return &server{dir: dir, alive: done}, output.Close()
})
