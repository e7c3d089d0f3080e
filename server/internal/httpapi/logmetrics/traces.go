package logmetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/server/internal/traces"
)

var (
	traceSpans  = prometheus.NewDesc("hookback_trace_spans_total", "Spans sent to the collector since startup; rejected: it did not take them.", []string{"result"}, nil)
	traceFailed = prometheus.NewDesc("hookback_trace_requests_failed_total", "Requests to the collector that failed since startup. They are repeated.", nil, nil)
	tracePaused = prometheus.NewDesc("hookback_traces_paused", "1 while no traces are sent, because several requests in a row failed.", nil, nil)
)

// Traces exports traces.Stats.
type Traces struct{ *traces.Follower }

// Describe implements prometheus.Collector.
func (*Traces) Describe(ch chan<- *prometheus.Desc) {
	ch <- traceSpans
	ch <- traceFailed
	ch <- tracePaused
}

// Collect implements prometheus.Collector.
func (t *Traces) Collect(ch chan<- prometheus.Metric) {
	stats := t.Stats()
	ch <- prometheus.MustNewConstMetric(traceSpans, prometheus.CounterValue, float64(stats.Sent), "sent")
	ch <- prometheus.MustNewConstMetric(traceSpans, prometheus.CounterValue, float64(stats.Rejected), "rejected")
	ch <- prometheus.MustNewConstMetric(traceFailed, prometheus.CounterValue, float64(stats.Failed))
	paused := 0.0
	if stats.IsPaused() {
		paused = 1
	}
	ch <- prometheus.MustNewConstMetric(tracePaused, prometheus.GaugeValue, paused)
}
