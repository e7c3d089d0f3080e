package httpapi

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/server/internal/store"
)

// statMetric is a metric of the statistics S, which are read at each scrape.
type statMetric[S any] struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels []string // values
	value  func(*S) float64
}

func gauge[S any](name, help string, value func(*S) float64) statMetric[S] {
	return statMetric[S]{prometheus.NewDesc("hookback_"+name, help, nil, nil), prometheus.GaugeValue, nil, value}
}

func counter[S any](name, help string, value func(*S) float64) statMetric[S] {
	return statMetric[S]{prometheus.NewDesc("hookback_"+name, help, nil, nil), prometheus.CounterValue, nil, value}
}

// labeled returns a counter with one label, given as NAME=VALUE.
func labeled[S any](name, help, label string, value func(*S) float64) statMetric[S] {
	label, of, _ := strings.Cut(label, "=")
	return statMetric[S]{prometheus.NewDesc("hookback_"+name, help, []string{label}, nil), prometheus.CounterValue, []string{of}, value}
}

func collect[S any](ch chan<- prometheus.Metric, metrics []statMetric[S], stats *S) {
	for _, m := range metrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(stats), m.labels...)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

const (
	refusedHelp = "Writes refused since startup because the disk is full, or by a fault of the database."
	ringsHelp   = "Wake-ups sent to and received from other hubs since startup."
)

var (
	// faultMetrics are also collected while the database does not respond.
	faultMetrics = []statMetric[store.Stats]{
		gauge("last_commit_failed", "1 if the last commit or checkpoint failed, or the files of the database are gone.", func(s *store.Stats) float64 { return number(s.Fault != "") }),
		labeled("writes_refused_total", refusedHelp, "cause=disk_full", func(s *store.Stats) float64 { return float64(s.RefusedFull) }),
		labeled("writes_refused_total", refusedHelp, "cause=fault", func(s *store.Stats) float64 { return float64(s.RefusedFault) }),
	}
	databaseMetrics = []statMetric[store.Stats]{
		gauge("store_events", "Events in the database.", func(s *store.Stats) float64 { return float64(s.Events) }),
		gauge("questions_pending", "Unanswered questions.", func(s *store.Stats) float64 { return float64(s.Pending) }),
		gauge("answers_undelivered", "Answers of people not yet delivered to their agent.", func(s *store.Stats) float64 { return float64(s.Undelivered) }),
		gauge("database_bytes", "Size of the database.", func(s *store.Stats) float64 { return float64(s.DatabaseBytes) }),
		gauge("wal_bytes", "Size of the write-ahead log.", func(s *store.Stats) float64 { return float64(s.JournalBytes) }),
		gauge("disk_free_bytes", "Free disk space on the database's volume.", func(s *store.Stats) float64 { return float64(s.FreeBytes) }),
		gauge("writes_queued", "Writes waiting for a group commit.", func(s *store.Stats) float64 { return float64(s.Queued) }),
		gauge("projection_lag_rows", "Committed rows that sessions and statistics do not include yet.", func(s *store.Stats) float64 { return float64(s.Projections.Rows) }),
		gauge("projection_lag_seconds", "Age of the oldest of these rows.", func(s *store.Stats) float64 { return s.Projections.Time.Seconds() }),
		gauge("search_index_lag_rows", "Rows of full blocks that the search index does not include yet.", func(s *store.Stats) float64 { return float64(s.SearchIndex.Rows) }),
		gauge("search_index_lag_seconds", "Age of the oldest of these rows.", func(s *store.Stats) float64 { return s.SearchIndex.Time.Seconds() }),
	}
	// hubMetrics are those of a database that several hubs can share.
	hubMetrics = []statMetric[store.HubStats]{
		gauge("hubs_alive", "Hubs that use the database.", func(s *store.HubStats) float64 { return float64(s.Alive) }),
		gauge("leader", "1 if this hub does the work that one hub does for all.", func(s *store.HubStats) float64 { return number(s.IsLeader) }),
		gauge("log_head", "Number of the newest row of the log that this hub has read.", func(s *store.HubStats) float64 { return float64(s.Head) }),
		gauge("feed_lag_rows", "Rows that this hub has read and not sent to its pages.", func(s *store.HubStats) float64 { return float64(s.FeedLagRows) }),
		gauge("database_clock_offset_seconds", "How far the clock of the database is ahead of that of this machine.", func(s *store.HubStats) float64 { return s.ClockOffset.Seconds() }),
		gauge("pool_connections_in_use", "Connections to the database that read.", func(s *store.HubStats) float64 { return float64(s.ConnectionsInUse) }),
		gauge("store_async_standby", "1 if the database has standbys and none of them confirms commits: a failover would lose answers.", func(s *store.HubStats) float64 { return number(s.HasAsyncStandby) }),
		counter("guard_conflicts_total", "Groups of writes that ran again because another hub had committed.", func(s *store.HubStats) float64 { return float64(s.Conflicts) }),
		counter("foreign_rows_total", "Rows of the log that other hubs have committed.", func(s *store.HubStats) float64 { return float64(s.ForeignRows) }),
		counter("lease_takeovers_total", "Hubs whose work was taken over.", func(s *store.HubStats) float64 { return float64(s.Takeovers) }),
		gauge("bus_up", "1 while wake-ups between hubs get through.", func(s *store.HubStats) float64 { return number(s.IsBusUp) }),
		labeled("bus_rings_total", ringsHelp, "direction=sent", func(s *store.HubStats) float64 { return float64(s.Bus.Sent) }),
		labeled("bus_rings_total", ringsHelp, "direction=received", func(s *store.HubStats) float64 { return float64(s.Bus.Received) }),
		counter("bus_dropped_total", "Wake-ups that were not sent, or not read in time, since startup. Hubs find the entries by asking the database.", func(s *store.HubStats) float64 { return float64(s.Bus.Dropped) }),
	}
)

// storeMetrics exports store.Stats, and the state of the other hubs of the database.
type storeMetrics struct{ store.History }

// Describe implements prometheus.Collector. The metrics differ from scrape to scrape.
func (*storeMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It omits the values of the database if
// that fails; /readyz reports that error.
func (f *storeMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats, err := f.Stats(ctx)
	collect(ch, faultMetrics, &stats)
	if err != nil {
		return
	}
	collect(ch, databaseMetrics, &stats)
	if stats.Hubs != nil {
		collect(ch, hubMetrics, stats.Hubs)
	}
}
