package httpapi

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// Metrics holds the hub's Prometheus metrics in a separate registry.
type Metrics struct {
	registry *prometheus.Registry
	log      *logMetrics

	requests    *prometheus.CounterVec   // by method, route and status
	seconds     *prometheus.HistogramVec // by route
	streams     prometheus.Gauge
	slowStreams prometheus.Counter
	refusals    *prometheus.CounterVec // by class
	problems    *prometheus.CounterVec // by code

	commits       prometheus.Counter
	commitFailed  prometheus.Counter
	commitOps     prometheus.Histogram
	commitSeconds prometheus.Histogram

	pruned          *prometheus.CounterVec // by kind
	prunedAt        prometheus.Gauge
	retentionPaused prometheus.Gauge

	telemetryRecords *prometheus.CounterVec // by signal and result
}

// NewMetrics returns a registry with every metric at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "hookback", Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "hookback", Name: name, Help: help}, labels)
	}
	seconds := prometheus.HistogramOpts{
		Namespace: "hookback", Name: "http_request_seconds", Help: "Time from a request to its response.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 2.5, 10, 60},
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("http_requests_total", "HTTP requests by method, route and status.", "method", "route", "status"),
		seconds:  prometheus.NewHistogramVec(seconds, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "hookback", Name: "streams", Help: "Open /stream connections.",
		}),
		problems:     counters("http_problems_total", "Requests answered with a problem document, by its code.", "code"),
		refusals:     counters("http_refused_total", "Requests refused because their class, or their sender's part of it, is full.", "class"),
		slowStreams:  counter("streams_cut_total", "Streams disconnected because the client read too slowly."),
		commits:      counter("commits_total", "Group commits."),
		commitFailed: counter("commits_failed_total", "Group commits that failed."),
		commitOps: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "hookback", Name: "commit_ops", Help: "Writes in one group commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
		}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "hookback", Name: "commit_seconds", Help: "Duration of a group commit, fsync included.",
			Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 2},
		}),
		pruned: counters("retention_removed_total", "Events and questions removed by retention since startup.", "kind"),
		prunedAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "hookback", Name: "retention_last_run_timestamp_seconds", Help: "Time of the last run of retention that succeeded.",
		}),
		retentionPaused: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "hookback", Name: "retention_paused", Help: "1 while old events are kept because the clock is in doubt.",
		}),
		telemetryRecords: counters("telemetry_records_total", "OpenTelemetry records received: events stored, records ignored or rejected.", "signal", "became"),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.seconds, m.streams, m.slowStreams, m.refusals, m.problems, m.commits, m.commitFailed, m.commitOps, m.commitSeconds,
		m.pruned, m.prunedAt, m.retentionPaused, m.telemetryRecords)
	m.log = newLogMetrics(m.registry)
	return m
}

// Run counts what happens in the log until ctx ends.
func (m *Metrics) Run(ctx context.Context, q *query.Service) error {
	return m.log.follow(ctx, q, q.Hello().Seq)
}

// Committed counts a group commit. The storage engine calls it.
func (m *Metrics) Committed(c store.Commit) {
	m.commits.Inc()
	if c.Err != nil {
		m.commitFailed.Inc()
	}
	m.commitOps.Observe(float64(c.Ops))
	m.commitSeconds.Observe(c.Duration.Seconds())
}

// RecordRetention counts a run of retention that succeeded. paused: the clock is in doubt.
func (m *Metrics) RecordRetention(removed store.PruneResult, at time.Time, paused bool) {
	m.pruned.WithLabelValues("event").Add(float64(removed.Events))
	m.pruned.WithLabelValues("question").Add(float64(removed.Questions))
	m.prunedAt.Set(float64(at.UnixMilli()) / 1e3)
	m.retentionPaused.Set(0)
	if paused {
		m.retentionPaused.Set(1)
	}
}

func (m *Metrics) recordRequest(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *Metrics) recordTelemetry(signal string, h hub.TelemetryResult) {
	m.telemetryRecords.WithLabelValues(signal, "stored").Add(float64(h.Stored))
	m.telemetryRecords.WithLabelValues(signal, "ignored").Add(float64(h.Ignored))
	m.telemetryRecords.WithLabelValues(signal, "rejected").Add(float64(h.Rejected))
}

func (m *Metrics) handler() fiber.Handler {
	return adaptor.HTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
}

// registerGauges registers the metrics that are read at each scrape.
func (m *Metrics) registerGauges(s *Server) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "hookback", Name: "build_info", Help: "The constant 1, with the versions of the hub, of Go and of the database's schema.",
		ConstLabels: prometheus.Labels{"version": s.Version, "go": runtime.Version(), "schema": strconv.FormatInt(s.Schema, 10)},
	})
	build.Set(1)
	m.registry.MustRegister(build)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "hookback", Name: "connections", Help: "Open connections, streams included.",
	}, func() float64 { return float64(s.conns.Count()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "hookback", Name: "connections_idle", Help: "Connections without a complete request.",
	}, func() float64 { return float64(s.conns.IdleCount()) }), &storeMetrics{s.Store})
	if s.Delivery != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "hookback", Name: "liveness_connections", Help: "Connections held to agents that wait for an answer.",
		}, func() float64 { return float64(s.Delivery.LivenessConnections()) }))
	}
	if s.Notifier != nil {
		for outcome, count := range s.Notifier.Outcomes() {
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Namespace: "hookback", Name: "notifications_total", Help: "Notifications since startup by outcome; retry: a failed attempt that is repeated.",
				ConstLabels: prometheus.Labels{"outcome": outcome},
			}, func() float64 { return float64(count.Load()) }))
		}
	}
	for class, name := range middleware.PlaceClassNames {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "hookback", Name: "http_places_used", Help: "Requests and streams in progress, by class.", ConstLabels: prometheus.Labels{"class": name},
		}, func() float64 { return float64(s.places.InUse(middleware.PlaceClass(class))) }))
	}
}
