package logmetrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/server/internal/store"
)

// Store exports store.Stats, and the state of the other hubs of the database.
type Store struct{ store.History }

var storeGauges = []struct {
	desc  *prometheus.Desc
	value func(store.Stats) float64
}{
	{gauge("store_events", "Events in the database."), func(s store.Stats) float64 { return float64(s.Events) }},
	{gauge("questions_pending", "Unanswered questions."), func(s store.Stats) float64 { return float64(s.Pending) }},
	{gauge("answers_undelivered", "Answers not yet delivered to their agent."), func(s store.Stats) float64 { return float64(s.Undelivered) }},
	{gauge("database_bytes", "Size of the database."), func(s store.Stats) float64 { return float64(s.DatabaseBytes) }},
	{gauge("wal_bytes", "Size of the write-ahead log."), func(s store.Stats) float64 { return float64(s.JournalBytes) }},
	{gauge("disk_free_bytes", "Free disk space on the database's volume."), func(s store.Stats) float64 { return float64(s.FreeBytes) }},
	{gauge("writes_queued", "Writes waiting for a group commit."), func(s store.Stats) float64 { return float64(s.Queued) }},
	{gauge("projection_lag_rows", "Committed rows that sessions and statistics do not include yet."), func(s store.Stats) float64 { return float64(s.Projections.Rows) }},
	{gauge("projection_lag_seconds", "Age of the oldest of these rows."), func(s store.Stats) float64 { return s.Projections.Time.Seconds() }},
	{gauge("search_index_lag_rows", "Rows of full blocks that the search index does not include yet."), func(s store.Stats) float64 { return float64(s.SearchIndex.Rows) }},
	{gauge("search_index_lag_seconds", "Age of the oldest of these rows."), func(s store.Stats) float64 { return s.SearchIndex.Time.Seconds() }},
}

type hubMetric struct {
	desc  *prometheus.Desc
	value func(*store.HubStats) float64
}

// The metrics of a database that several hubs can share.
var (
	hubGauges = []hubMetric{
		{gauge("hubs_alive", "Hubs that use the database."), func(s *store.HubStats) float64 { return float64(s.Alive) }},
		{gauge("leader", "1 if this hub does the work that one hub does for all."), func(s *store.HubStats) float64 { return number(s.IsLeader) }},
		{gauge("log_head", "Number of the newest row of the log that this hub has read."), func(s *store.HubStats) float64 { return float64(s.Head) }},
		{gauge("feed_lag_rows", "Rows that this hub has read and not sent to its pages."), func(s *store.HubStats) float64 { return float64(s.FeedLagRows) }},
		{gauge("database_clock_offset_seconds", "How far the clock of the database is ahead of that of this machine."), func(s *store.HubStats) float64 { return s.ClockOffset.Seconds() }},
		{gauge("pool_connections_in_use", "Connections to the database that read."), func(s *store.HubStats) float64 { return float64(s.ConnectionsInUse) }},
		{gauge("store_async_standby", "1 if the database has standbys and none of them confirms commits: a failover would lose answers."), func(s *store.HubStats) float64 { return number(s.HasAsyncStandby) }},
	}
	hubCounters = []hubMetric{
		{gauge("guard_conflicts_total", "Groups of writes that ran again because another hub had committed."), func(s *store.HubStats) float64 { return float64(s.Conflicts) }},
		{gauge("foreign_rows_total", "Rows of the log that other hubs have committed."), func(s *store.HubStats) float64 { return float64(s.ForeignRows) }},
		{gauge("lease_takeovers_total", "Hubs whose work was taken over."), func(s *store.HubStats) float64 { return float64(s.Takeovers) }},
	}
)

var (
	lastCommitFailed = gauge("last_commit_failed", "1 if the last commit or checkpoint failed, or the files of the database are gone.")
	writesRefused    = prometheus.NewDesc("hookback_writes_refused_total", "Writes refused since startup because the disk is full, or by a fault of the database.", []string{"cause"}, nil)
)

func gauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("hookback_"+name, help, nil, nil)
}

// Describe implements prometheus.Collector.
func (*Store) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range storeGauges {
		ch <- g.desc
	}
	for _, g := range hubGauges {
		ch <- g.desc
	}
	for _, c := range hubCounters {
		ch <- c.desc
	}
	ch <- busUp
	ch <- busRings
	ch <- busDropped
	ch <- lastCommitFailed
	ch <- writesRefused
}

// Collect implements prometheus.Collector. It omits the values of the database if
// that fails; /readyz reports that error.
func (f *Store) Collect(ch chan<- prometheus.Metric) {
	stats, err := f.Stats(context.Background())
	failed := 0.0
	if stats.Fault != "" {
		failed = 1
	}
	ch <- prometheus.MustNewConstMetric(lastCommitFailed, prometheus.GaugeValue, failed)
	ch <- prometheus.MustNewConstMetric(writesRefused, prometheus.CounterValue, float64(stats.RefusedFull), "disk_full")
	ch <- prometheus.MustNewConstMetric(writesRefused, prometheus.CounterValue, float64(stats.RefusedFault), "fault")
	if err != nil {
		return
	}
	for _, g := range storeGauges {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(stats))
	}
	if stats.Hubs == nil {
		return
	}
	for _, g := range hubGauges {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(stats.Hubs))
	}
	for _, c := range hubCounters {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, c.value(stats.Hubs))
	}
	collectBus(ch, stats.Hubs.IsBusUp, stats.Hubs.Bus)
}
