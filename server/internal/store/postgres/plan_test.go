package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// plannedRows is the number of events for which plans are made. The rows of other tables follow them.
const plannedRows = 24_000

// fillTables are the statements that fill the tables. $1 is plannedRows. Every second event asks.
var fillTables = []string{
	`INSERT INTO events (seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
		SELECT i, gen_random_uuid(), i * 1000, i, CASE WHEN i < 9 THEN 'hookback-test' WHEN i % 20 = 0 THEN 'app' ELSE 'app' || i % 20 END, CASE WHEN i < 100 THEN 's' ELSE 's' || i / 4 END,
			CASE WHEN i % 3 = 0 THEN 'PreToolUse' ELSE 'Stop' END, CASE WHEN i % 3 = 0 THEN 'Bash' ELSE '' END, i % 2 = 0, NULL, repeat('e', 100)::bytea, repeat('p', 200)::bytea
		FROM generate_series(1, $1::bigint) i`,
	`INSERT INTO zones (kind, name, zone) SELECT DISTINCT kind, name, seq >> 9 FROM events, LATERAL (VALUES (1, app), (2, session), (3, type), (4, tool)) n (kind, name)`,
	`INSERT INTO names (kind, name, id) SELECT kind, name, min(zone << 9) FROM zones GROUP BY kind, name`,
	`INSERT INTO time_marks (received_at, seq, previous) SELECT received_at, seq, received_at - 1000 FROM events WHERE seq % 900 = 0`,
	`INSERT INTO questions (seq, app, session, type, tool, state, inbox, version, changed_at, deadline, protocol, has_nonce, url, listener_key, requester, text, call, listener, question, asked, status)
		SELECT seq, app, session, type, tool, s, CASE s WHEN 'pending' THEN s WHEN 'responded' THEN 'decided' ELSE 'expired' END, 1, received_at, 0, 2, false, '', '', '', 'May I?',
			seq::text::bytea, (seq / 4)::text::bytea, repeat('q', 300)::bytea, '{}', '{}'
		FROM (SELECT *, CASE WHEN seq % 400 = 0 THEN 'pending' WHEN seq % 20 = 0 THEN 'timeout' WHEN seq % 1000 = 4 THEN 'error' ELSE 'responded' END AS s FROM events WHERE asks) e`,
	`INSERT INTO changes (seq, question, ends, status) SELECT $1::bigint + seq, seq, true, repeat('c', 200)::bytea FROM questions WHERE state <> 'pending'`,
	`INSERT INTO deliveries (seq, answer_id, state, attempts, sent, due, until, leased, wake, open, undelivered, handled)
		SELECT seq, '', 'acked', 1, true, seq, 0, 0, seq, seq % 1000 = 4, seq % 200 = 4, 0 FROM questions WHERE state <> 'pending'`,
	`INSERT INTO ledger (n, question, hash, entry) SELECT seq, CASE WHEN seq % 2 = 0 THEN seq ELSE 0 END, '', repeat('l', 300)::bytea FROM events`,
	`INSERT INTO notices (question, channel, name, person, kind, n, state, why, error, attempts, due, leased, made_at, at)
		SELECT seq, seq % 5, '', 'person' || seq % 50, 'new', 0, CASE WHEN seq % 400 = 0 THEN 'queued' ELSE 'sent' END, '', '', 1, seq, 0, seq, seq FROM events`,
	`INSERT INTO chat_messages (channel, chat, message, notice, question, revision, settled) SELECT 1, '1', seq, 1, seq, 1, seq % 400 <> 0 FROM questions`,
	`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by) SELECT seq, app, session, '', '', '', 'handed_over', seq, seq, seq FROM events`,
	`INSERT INTO sessions (app, session, person, first, last, active, imported, text, facts)
		SELECT app, session, CASE WHEN min(seq) % 50 = 0 THEN 'ada' ELSE '' END, min(seq), max(seq), max(seq), min(seq) % 100 = 0, repeat('t', 100), repeat('f', 300)::bytea FROM events GROUP BY app, session`,
	`INSERT INTO transcript_texts (seq, first, text) SELECT last, first, repeat('t', 500) FROM sessions`,
	`INSERT INTO session_tools (first, tool, bin, calls, failures, total) SELECT first, 'Bash', 1, 1, 0, 1 FROM sessions`,
	`INSERT INTO risky_calls (seq, app, session, tool_use_id, digest, tool, risk, codes, decided, outcome)
		SELECT seq, app, session, '', '', tool, 'high', '', 'person', 'ran' FROM events WHERE seq % 2 = 0`,
	`INSERT INTO decisions (quarter, app, outcome, person, bin, count) SELECT seq, app, 'approved', true, 1, 1 FROM events`,
	`INSERT INTO activity (span, at, app, events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost) SELECT 1, seq, app, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 FROM events`,
	`INSERT INTO spend (first, quarter, model, app, person, project, imported, input, output, cache_read, cache_write, cost) SELECT seq, seq, '', app, '', '', false, 0, 0, 0, 0, 0 FROM events`,
	`INSERT INTO search_blocks (block, made, crowded) SELECT i, CASE WHEN i % 10 = 0 THEN '' ELSE 'x' END, 0 FROM generate_series(0, 300) i`,
	`UPDATE streams SET head = 2 * $1::bigint`,
	`INSERT INTO search_grams (place, grams) SELECT block << 6 | i, repeat('g', 100)::bytea FROM search_blocks, generate_series(0, 63) i`,
}

// scannedTables may not be read without an index.
var scannedTables = regexp.MustCompile(`Seq Scan on (events|questions|changes|ledger|notices|sessions|zones|names|deliveries|risky_calls|transcript_texts|chat_messages|messages|session_tools|decisions|activity|spend|search_grams)\b`)

// Every query of a long history uses an index, with a plan for its arguments and with one for any.
func TestQueryPlans_UseIndexes(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	ctx := t.Context()
	fill := func(conn *pgxpool.Conn) error {
		for _, statement := range slices.Concat([]string{`SET statement_timeout = 0`}, fillTables, []string{`VACUUM (ANALYZE)`}) {
			args := []any{int64(plannedRows)}[:strings.Count(statement, "$1")]
			if _, err := conn.Exec(ctx, statement, args...); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}
	require.NoError(t, b.readers.pool.AcquireFunc(ctx, fill))
	b.Reopen(t) // the hub reads what waits for agents
	conn, err := b.readers.pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	for _, q := range plannedQueries(t, b) {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explainPlan(t, conn.Conn(), mode, &q)
			require.NotRegexp(t, scannedTables, plan, "%s, %s: %s", q.name, mode, q.query)
		}
	}
}

type plannedQuery struct {
	name, query string
	args        []any
}

// explainPlan returns the plan of a statement.
func explainPlan(t *testing.T, conn *pgx.Conn, mode string, q *plannedQuery) string {
	t.Helper()
	ctx := context.Background()
	exec := func(statement string) {
		_, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, "%s: %s", q.name, statement)
	}
	exec(`SET plan_cache_mode = ` + mode)
	exec(`PREPARE planned AS ` + q.query)
	defer exec(`DEALLOCATE planned`)
	call := `EXPLAIN EXECUTE planned`
	if len(q.args) > 0 {
		literals := make([]string, len(q.args))
		for i, arg := range q.args {
			literals[i] = literal(arg)
		}
		call += `(` + strings.Join(literals, ", ") + `)`
	}
	rows, _ := conn.Query(ctx, call, pgx.QueryExecModeSimpleProtocol)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, "%s: %s", q.name, call)
	return strings.Join(lines, "\n")
}

// literal returns an argument as text, which PostgreSQL converts to the type of the parameter.
func literal(arg any) string {
	switch v := arg.(type) {
	case []byte:
		return fmt.Sprintf(`'\x%x'`, v)
	case []string:
		return `'{"` + strings.Join(v, `","`) + `"}'`
	case []int64:
		return `'{` + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v)), ","), "[]") + `}'`
	default:
		return `'` + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + `'`
	}
}

func plannedQueries(t *testing.T, b *testStore) []plannedQuery {
	t.Helper()
	const head = 2 * plannedRows
	list := []plannedQuery{
		{"Append, by key", `SELECT key, seq FROM events WHERE key = ANY($1)`, []any{"{}"}},
		{"After, transcripts", queryTranscripts, []any{9000, 9512}},
		{"LeaseDeliveries, next", tables.QueryNextDelivery, []any{""}},
		{"LeaseDeliveries, due", tables.QueryDueDeliveries, []any{head, "", 9}},
		{"Open, pending", tables.QueryPendingQuestions, nil},
		{"Commits of other hubs, questions", queryChangedQuestions, []any{head - 512, head}},
		{"Commits of other hubs, counters", queryCounters, []any{""}},
		{"Prune, changes", deleteChanges, []any{"{4,8}"}},
		{"Pulse", queryPulse, nil},
	}
	calls := append(conformance.TableCalls(9000), conformance.LogCalls(9000, time.UnixMilli(20_000))...)
	for _, q := range conformance.Statements(t, &b.Tables, calls) {
		list = append(list, plannedQuery{q.Name, q.Query, clean(q.Args)})
	}
	return list
}
