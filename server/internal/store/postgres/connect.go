package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// maxReaders is the default size of the pool; pool_max_conns in the DSN changes it.
const maxReaders = 16

// IsDSN reports whether a value of -db names a PostgreSQL database.
func IsDSN(db string) bool {
	return strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://")
}

// Redact returns a DSN without its password.
func Redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres://…" // it could be anywhere
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// poolConfig parses a DSN and adds the settings that it leaves open: a verified connection to a
// server that is not on this machine, and the primary of several servers.
func poolConfig(dsn string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the address is not valid; use postgres://USER@HOST/DATABASE") // err may show the password
	}
	hosts := []string{cfg.ConnConfig.Host}
	for _, f := range cfg.ConnConfig.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	_, query, _ := strings.Cut(dsn, "?")
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the parameters of the address are not valid")
	}
	added := url.Values{}
	if !given.Has("sslmode") && !isLocal(hosts) {
		added.Set("sslmode", "verify-full")
	}
	if !given.Has("target_session_attrs") {
		added.Set("target_session_attrs", "read-write")
	}
	if !given.Has("pool_max_conns") {
		added.Set("pool_max_conns", fmt.Sprint(maxReaders))
	}
	separator := "?"
	if query != "" {
		separator = "&"
	}
	if cfg, err = pgxpool.ParseConfig(strings.TrimSuffix(dsn, "?") + separator + added.Encode()); err != nil {
		return nil, errors.New("the address is not valid; use postgres://USER@HOST/DATABASE")
	}
	if err := requireDurable(cfg.ConnConfig.RuntimeParams); err != nil {
		return nil, err
	}
	setSession(cfg.ConnConfig)
	// A request that is given up cancels its statement and keeps its connection.
	cfg.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 500 * time.Millisecond}
	}
	return cfg, nil
}

// isLocal reports whether all hosts are sockets or loopback addresses.
func isLocal(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool {
		return !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "@") && !socket.IsLoopback(host)
	})
}

// requireDurable refuses a DSN that gives up durability.
func requireDurable(params map[string]string) error {
	value := params["synchronous_commit"]
	if _, options, ok := strings.Cut(params["options"], "synchronous_commit"); ok {
		value = strings.Fields(strings.TrimLeft(options, "= ") + " -")[0]
	}
	if value == "off" || value == "local" {
		return fmt.Errorf("synchronous_commit is %s in the address, so commits could be lost; remove it", value)
	}
	return nil
}

// setSession sets the parameters of each session.
func setSession(cfg *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"application_name": "hookback", "synchronous_commit": "on", "lock_timeout": "2s", "statement_timeout": "5s",
		"idle_in_transaction_session_timeout": "5s",
		"random_page_cost":                    "1.1", // pages that are read often are in memory, so that an index is worth it
	} {
		if _, ok := cfg.RuntimeParams[name]; !ok {
			cfg.RuntimeParams[name] = value
		}
	}
	if !strings.HasPrefix(cfg.Host, "/") { // a lost machine holds no lock for long
		cfg.RuntimeParams["tcp_keepalives_idle"], cfg.RuntimeParams["tcp_keepalives_interval"], cfg.RuntimeParams["tcp_keepalives_count"] = "2", "1", "3"
	}
	cfg.ConnectTimeout = 3 * time.Second
}

// writerConfig is the configuration of the connection that writes.
func writerConfig(cfg *pgx.ConnConfig) *pgx.ConnConfig {
	own := cfg.Copy()
	// A transaction that is given up must not be used again.
	own.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	return own
}

// requireSettings refuses a server that can lose confirmed commits.
func requireSettings(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var encoding, fsync, fullPages string
	var isStandby bool
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_setting('fsync'),
		current_setting('full_page_writes'), pg_is_in_recovery()`).Scan(&version, &encoding, &fsync, &fullPages, &isStandby); err != nil {
		return err
	}
	switch {
	case version < 150000:
		return fmt.Errorf("the server is PostgreSQL %d; use version 15 or newer", version/10000)
	case isStandby:
		return errors.New("the server is a standby, which takes no writes; name the primary server")
	case encoding != "UTF8":
		return fmt.Errorf("the encoding of the database is %s; create it with ENCODING 'UTF8'", encoding)
	case fsync == "off" || fullPages == "off":
		return errors.New("the server has fsync or full_page_writes off, so a crash could lose everything; turn both on")
	default:
		return nil
	}
}

// Every hub holds a shared advisory lock for its schema. A hub that gets the exclusive one knows that
// no other hub is connected.
const (
	lockKey         = `(hashtextextended('hookback ' || current_schema(), 0))`
	tryLockAlone    = `SELECT pg_try_advisory_lock` + lockKey
	lockShared      = `SELECT pg_advisory_lock_shared` + lockKey
	unlockExclusive = `SELECT pg_advisory_unlock` + lockKey
)

// open connects the writer and takes the shared lock. If isStart, it takes the exclusive one if it can.
func (w *writer) open(ctx context.Context, isStart bool) error {
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return err
	}
	if isStart {
		err = conn.QueryRow(ctx, tryLockAlone).Scan(&w.isAlone)
	}
	if err == nil && !w.isAlone {
		_, err = conn.Exec(ctx, lockShared)
	}
	if err != nil {
		_ = conn.Close(ctx)
		if stateOf(err) == "55P03" {
			return fmt.Errorf("%w for itself: it starts at this moment; try again, or choose another database or search_path", store.ErrLocked)
		}
		return err
	}
	w.conn = conn
	return nil
}

// admitOthers exchanges the exclusive lock for the shared one.
func (w *writer) admitOthers(ctx context.Context) error {
	if !w.isAlone {
		return nil
	}
	w.isAlone = false
	for _, query := range []string{lockShared, unlockExclusive} {
		if _, err := w.conn.Exec(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// connect connects the writer again if its connection was lost, and finds out whether the commit
// whose outcome is unknown has happened: it has if it was the last one. If another hub has committed
// since, that stays unknown to its callers, and its rows count as another hub's.
func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil && !w.conn.IsClosed() && w.unresolved == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if w.conn != nil {
		_ = w.conn.Close(ctx)
		w.conn = nil
	}
	err := w.open(ctx, false)
	var stored counters
	if err == nil {
		stored, err = readCounters(ctx, w.conn)
	}
	if err == nil {
		err = w.requireSameLog(ctx, &stored)
	}
	if err == nil {
		err = w.openEpochs(ctx, w, stored.Head)
	}
	if err == nil && w.unresolved != nil && stored.commits == w.counters.commits {
		stored, err = w.fence(ctx, stored.commits)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errConnectionLost, err)
	}
	w.segmentNames.Clear()
	t := w.unresolved
	w.unresolved = nil
	switch {
	case stored.commits == w.counters.commits:
	case t != nil && stored.mark == t.counters.mark:
		w.finish(t)
	default:
		return w.refresh()
	}
	return nil
}

// fence makes sure that a commit whose connection was lost has happened, or never will: the server may
// still work on it. It returns the counters after that.
func (w *writer) fence(ctx context.Context, commits int64) (counters, error) {
	// The mark is not the one of any commit.
	if _, err := w.conn.Exec(ctx, `UPDATE streams SET commits = commits + 1, mark = $1 WHERE commits = $2`, rand.Int64(), commits); err != nil {
		return counters{}, err
	}
	return readCounters(ctx, w.conn)
}

// requireSameLog stops the hub if the database lost commits that the hub has published, as after the
// failover to a standby that was behind. The state in memory is wrong then.
func (w *writer) requireSameLog(ctx context.Context, stored *counters) error {
	known := w.publisher.newest()
	isSame := stored.commits >= w.counters.commits && stored.Head >= w.counters.Head
	if isSame && known.Seq > stored.Pruned {
		query, want := `SELECT uid::text FROM events WHERE seq = $1`, ""
		if known.Change {
			query, want = `SELECT question::text FROM changes WHERE seq = $1`, fmt.Sprint(known.Event.ID)
		} else if known.Event != nil {
			want = known.Event.UID
		}
		var found string
		if err := w.conn.QueryRow(ctx, query, known.Seq).Scan(&found); tables.IgnoreNoRows(err) != nil {
			return err
		}
		isSame = want == "" || found == want
	}
	if isSame {
		return nil
	}
	w.health.Set(&tables.Fault{Kind: tables.Fatal, Detail: "the database has lost commits that this hub confirmed: it was restored, or a standby that was behind took over. " +
		"This hub stops; after its start it shows the state of the database"})
	return w.health.Refusal()
}

// disconnect closes the connection, which releases the lock.
func (w *writer) disconnect() {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	if w.conn != nil {
		_, _ = w.conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
		_ = w.conn.Close(ctx)
	}
}
