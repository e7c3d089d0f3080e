package main

import "slices"

// figure is a measured value and its goal.
type figure struct {
	name  string
	value metric
	// against is the value that it is divided by; the zero metric: none. The goal is then
	// about the ratio.
	against metric
	goal    float64 // 0: no goal
	atLeast bool    // the goal is a lower bound
}

// metric is one value of a benchmark, under the names that the benchmark prints.
type metric struct{ benchmark, unit string }

// load is one load of server/hubtest on a server: hub, fiber or reference.
func load(benchmark, server, load, unit string) metric {
	return metric{"Benchmark" + benchmark + "/" + server + "/" + load, unit}
}

// table is a list of figures with one title.
type table struct {
	title   string
	figures []figure
}

// The loads of server/hubtest.
const (
	plain    = "rate=50/pages=0"
	fifty    = "rate=100/pages=50"
	oneAsk   = "at-once=1/rate=4"
	flood16  = "posters=16/pages=0"
	flood64  = "posters=64/pages=0"
	floodTo  = "posters=16/pages=50"
	asks20   = "at-once=20"
	pacedAsk = "at-once=20/rate=38"
)

// feel is what an agent or a person waits for.
var feel = table{"What people feel", []figure{
	{name: "hook that asks nothing, against an empty program, ms", value: metric{"BenchmarkHook", "hook-p50-ms"}, against: metric{"BenchmarkHook", "empty-p50-ms"}, goal: 2},
	{name: "hook before a call that no policy covers, against an empty program, ms", value: metric{"BenchmarkHook", "gate-p50-ms"}, against: metric{"BenchmarkHook", "empty-p50-ms"}, goal: 2.5},
	{name: "the same: p95, ms", value: metric{"BenchmarkHook", "gate-p95-ms"}, goal: 15},
	{name: "hook before a removal of 20,000 files, more than of one file: p95, ms", value: metric{"BenchmarkHook", "remove-20000-more-p95-ms"}, goal: 30},
	{name: "hook without a hub, ms", value: metric{"BenchmarkHook", "hook-no-hub-p50-ms"}},
	{name: "hook with 1 MiB on stdin, ms", value: metric{"BenchmarkHook", "hook-1MiB-p50-ms"}},
	{name: "one poster: POST p50, against a write and fsync, ms", value: metric{"BenchmarkOnePoster", "p50-ms"}, against: metric{"BenchmarkOnePoster", "fsync-p50-ms"}},
	{name: "1 ask at a time: POST to page p50, ms", value: load("Ask", "hub", oneAsk, "page-p50-ms")},
	{name: "1 ask at a time: respond call p50, ms", value: load("Ask", "hub", oneAsk, "respond-p50-ms")},
	{name: "1 ask at a time: respond to agent p50, ms", value: load("Ask", "hub", oneAsk, "agent-p50-ms")},
	{name: "20 asks at 38/s: respond to agent p50, ms", value: load("Ask", "hub", pacedAsk, "agent-p50-ms")},
	{name: "10 pages, 500 events/s: POST to page p50, ms", value: load("Paced", "hub", "rate=500/pages=10", "page-p50-ms")},
	{name: "start to listening, ms", value: metric{"BenchmarkStart", "listening-p50-ms"}},
}}

// budgets are counts, which do not depend on the machine, and what the hub costs beside its time.
var budgets = table{"Budgets", []figure{
	{name: "plain event, 50/s: fsyncs", value: load("Paced", "hub", plain, "fsyncs/event"), goal: 1.1},
	{name: "plain event, 50/s: WAL pages", value: load("Paced", "hub", plain, "wal-pages/event"), goal: 5},
	{name: "plain event, 64 posters: WAL pages", value: load("Flood", "hub", flood64, "wal-pages/event"), goal: 3},
	{name: "ask to acknowledged: fsyncs", value: load("Ask", "hub", oneAsk, "fsyncs/ask"), goal: 3},
	{name: "ask to acknowledged: WAL pages", value: load("Ask", "hub", oneAsk, "wal-pages/ask"), goal: 12},
	{name: "ask to acknowledged: SQL statements", value: load("Ask", "hub", oneAsk, "statements/ask"), goal: 14},
	{name: "ask to acknowledged: rows changed", value: load("Ask", "hub", oneAsk, "rows/ask")},
	{name: "plain event, 50/s: SQL statements", value: load("Paced", "hub", plain, "statements/event")},
	{name: "plain event, 50/s: rows changed", value: load("Paced", "hub", plain, "rows/event")},
	{name: "50 pages, flood: deliveries per CPU second", value: load("Flood", "hub", floodTo, "deliveries/cpu-s")},
	{name: "an open page: memory, KiB", value: metric{"BenchmarkStreamMemory", "KiB/page"}},
	{name: "20 pages that stop reading: memory, MiB", value: metric{"BenchmarkStalled", "MiB"}},
	{name: "first start: CPU, ms", value: metric{"BenchmarkStart", "cpu-ms"}, goal: 40},
}}

var floors = table{"Against the floor", []figure{
	versusFloor("1 ask at a time, 4/s: CPU per ask, µs", loadMetric{"Ask", oneAsk, "cpu-µs/ask"}, 2.5),
	versusFloor("1 ask at a time, 4/s: POST to page p50, ms", loadMetric{"Ask", oneAsk, "page-p50-ms"}, 1.5),
	versusFloor("1 ask at a time, 4/s: respond to agent p50, ms", loadMetric{"Ask", oneAsk, "agent-p50-ms"}, 1.5),
	versusFloor("20 asks at once: CPU per ask, µs", loadMetric{"Ask", asks20, "cpu-µs/ask"}, 2.5),
	versusFloor("plain event, 50/s: CPU, µs", loadMetric{"Paced", plain, "cpu-µs/event"}, 0),
	versusFloor("plain event, 50/s: POST p50, ms", loadMetric{"Paced", plain, "post-p50-ms"}, 0),
}}

// versus returns a figure of the hub divided by the same of another server.
func versus(server, name string, m loadMetric, goal float64) figure {
	return figure{name: name, value: load(m.benchmark, "hub", m.load, m.unit), against: load(m.benchmark, server, m.load, m.unit), goal: goal}
}

func versusReference(name string, m loadMetric, goal float64) figure {
	return versus("reference", name, m, goal)
}

// versusFloor compares with a program that makes the same exchanges and flushes, and does nothing else.
func versusFloor(name string, m loadMetric, goal float64) figure {
	return versus("floor", name, m, goal)
}

// loadMetric is a value that a benchmark of server/hubtest prints for each server under a load.
type loadMetric struct{ benchmark, load, unit string }

func atLeast(f figure) figure {
	f.atLeast = true
	return f
}

// references compare with the reference server. The goals hold for one that flushes each commit, as the hub does.
var references = table{"Against the reference server", []figure{
	atLeast(versusReference("16 posters: events/s", loadMetric{"Flood", flood16, "events/s"}, 4)),
	atLeast(versusReference("64 posters: events/s", loadMetric{"Flood", flood64, "events/s"}, 6)),
	versusReference("16 posters: CPU per event, µs", loadMetric{"Flood", flood16, "cpu-µs/event"}, 0.5),
	versusReference("64 posters: CPU per event, µs", loadMetric{"Flood", flood64, "cpu-µs/event"}, 0.35),
	versusReference("plain event, 50/s: CPU, µs", loadMetric{"Paced", plain, "cpu-µs/event"}, 1),
	versusReference("50 pages, 100 events/s: delivery p50, ms", loadMetric{"Paced", fifty, "page-p50-ms"}, 0.7),
	versusReference("50 pages, 100 events/s: delivery p99, ms", loadMetric{"Paced", fifty, "page-p99-ms"}, 0.7),
	versusReference("50 pages, 100 events/s: CPU per event, µs", loadMetric{"Paced", fifty, "cpu-µs/event"}, 0.8),
	atLeast(versusReference("50 pages, flood: deliveries/s", loadMetric{"Flood", floodTo, "deliveries/s"}, 3.8)),
	versusReference("1 ask at a time: POST to page p50, ms", loadMetric{"Ask", oneAsk, "page-p50-ms"}, 1),
	versusReference("1 ask at a time: respond to agent p50, ms", loadMetric{"Ask", oneAsk, "agent-p50-ms"}, 1.2),
	versusReference("1 ask at a time: CPU per ask, µs", loadMetric{"Ask", oneAsk, "cpu-µs/ask"}, 1.2),
	versusReference("20 asks at once: CPU per ask, µs", loadMetric{"Ask", asks20, "cpu-µs/ask"}, 1.2),
	versusReference("20 asks at 38/s: respond to agent p50, ms", loadMetric{"Ask", pacedAsk, "agent-p50-ms"}, 0.5),
	versusReference("20 asks at 38/s: respond to agent p99, ms", loadMetric{"Ask", pacedAsk, "agent-p99-ms"}, 0.5),
}}

// withoutGoals is for a server that is no equal.
func (t table) withoutGoals(title string) table {
	t = table{title, slices.Clone(t.figures)}
	for i := range t.figures {
		t.figures[i].goal = 0
	}
	return t
}

// versusSQLite compares the engines on one disk. Without PostgreSQL it is empty.
var versusSQLite = table{"Ingest on PostgreSQL, divided by that on SQLite", []figure{
	{name: "1 poster", value: metric{"BenchmarkIngest/posters=1", "pg/sqlite"}, goal: 0.65, atLeast: true},
	{name: "16 posters", value: metric{"BenchmarkIngest/posters=16", "pg/sqlite"}, goal: 0.65, atLeast: true},
	{name: "64 posters", value: metric{"BenchmarkIngest/posters=64", "pg/sqlite"}, goal: 0.65, atLeast: true},
}}

// hubsAndEngines are the ratios of hubs on PostgreSQL to a hub on SQLite, and of two hubs on one database to
// one. CPU times include the database server.
var hubsAndEngines = table{"Several hubs", []figure{
	{name: "1 poster: events/s on PostgreSQL, divided by SQLite", value: metric{"BenchmarkScale/posters=1", "pg/sqlite"}, goal: 0.65, atLeast: true},
	{name: "16 posters: events/s on PostgreSQL, divided by SQLite", value: metric{"BenchmarkScale/posters=16", "pg/sqlite"}, goal: 0.65, atLeast: true},
	{name: "64 posters: events/s on PostgreSQL, divided by SQLite", value: metric{"BenchmarkScale/posters=64", "pg/sqlite"}, goal: 0.65, atLeast: true},
	{name: "64 posters: CPU per event on PostgreSQL, divided by SQLite", value: metric{"BenchmarkScale/posters=64", "pg/sqlite-cpu"}, goal: 1.3},
	{name: "16 posters: events/s of two hubs, divided by one", value: metric{"BenchmarkScale/posters=16", "two/one"}, goal: 0.85, atLeast: true},
	{name: "64 posters: events/s of two hubs, divided by one", value: metric{"BenchmarkScale/posters=64", "two/one"}, goal: 0.85, atLeast: true},
	{name: "64 posters: CPU per event of two hubs, divided by one", value: metric{"BenchmarkScale/posters=64", "two/one-cpu"}},
	{name: "POST at one hub to page of the other, 2 × 1,000 events/s, bus notify: p50, ms", value: metric{"BenchmarkOtherHub/bus=notify/rate=1000", "page-p50-ms"}},
	{name: "the same: p99, ms", value: metric{"BenchmarkOtherHub/bus=notify/rate=1000", "page-p99-ms"}, goal: 25},
	{name: "the same without a bus: p99, ms", value: metric{"BenchmarkOtherHub/bus=none/rate=1000", "page-p99-ms"}, goal: 300},
	{name: "2 × 100 events/s, bus notify: p99, ms", value: metric{"BenchmarkOtherHub/bus=notify/rate=100", "page-p99-ms"}, goal: 25},
	{name: "2 × 100 events/s, without a bus: p99, ms", value: metric{"BenchmarkOtherHub/bus=none/rate=100", "page-p99-ms"}, goal: 300},
	{name: "16 at once: answers/s on PostgreSQL, divided by SQLite", value: metric{"BenchmarkApply/people=16", "pg/sqlite"}, goal: 0.5, atLeast: true},
	{name: "64 at once: answers/s on PostgreSQL, divided by SQLite", value: metric{"BenchmarkApply/people=64", "pg/sqlite"}, goal: 0.5, atLeast: true},
}}

// maintenance is the effect of retention and a backup on posters.
var maintenance = table{"Retention and backup", []figure{
	{name: "POST p99 during pruning, against without", value: metric{"BenchmarkAppendDuringPrune", "p99-x"}, goal: 2},
	{name: "longest commit during pruning, ms", value: metric{"BenchmarkAppendDuringPrune", "longest-commit-ms"}},
	{name: "POST p50 during a backup, against without", value: metric{"BenchmarkBackup", "p50-x"}, goal: 2},
	{name: "write-ahead log after a backup, against before, MiB", value: metric{"BenchmarkBackup", "wal-MiB"}, against: metric{"BenchmarkBackup", "wal-before-MiB"}, goal: 2},
}}

// histories are the queries that could grow with the history.
var histories = table{"Growth", []figure{
	{name: "GET /api/sessions?q=, ms", value: metric{"BenchmarkHistory/sessions-by-text", "ms"}, goal: 15},
	{name: "GET /api/overview?days=90, ms", value: metric{"BenchmarkHistory/overview", "ms"}, goal: 25},
	{name: "GET /hitl/stats, first, ms", value: metric{"BenchmarkHistory/stats/first", "ms"}, goal: 6},
	{name: "GET /hitl/stats, later, ms", value: metric{"BenchmarkHistory/stats/later", "ms"}, goal: 6},
	{name: "search, rare word, complete, ms", value: metric{"BenchmarkHistory/search/complete", "ms"}, goal: 150},
	{name: "the same right after 150,000 events, against caught up, ms", value: metric{"BenchmarkHistory/search/behind", "ms"}, against: metric{"BenchmarkHistory/search/complete", "ms"}, goal: 2},
	{name: "1,000 pages open: CPU of the hub, s", value: metric{"BenchmarkHistory/pages", "cpu-s"}, goal: 2},
	{name: "first requests with one call of 0.9 MB: more KiB", value: metric{"BenchmarkHistory/lists", "KiB"}, goal: 64},
}}
