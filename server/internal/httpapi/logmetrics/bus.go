package logmetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/server/internal/bus"
)

var (
	busUp      = prometheus.NewDesc("hookback_bus_up", "1 while wake-ups between hubs get through.", nil, nil)
	busRings   = prometheus.NewDesc("hookback_bus_rings_total", "Wake-ups sent to and received from other hubs since startup.", []string{"direction"}, nil)
	busDropped = prometheus.NewDesc("hookback_bus_dropped_total", "Wake-ups that were not sent, or not read in time, since startup. Hubs find the entries by asking the database.", nil, nil)
)

func collectBus(ch chan<- prometheus.Metric, isUp bool, stats bus.Stats) {
	ch <- prometheus.MustNewConstMetric(busUp, prometheus.GaugeValue, number(isUp))
	ch <- prometheus.MustNewConstMetric(busRings, prometheus.CounterValue, float64(stats.Sent), "sent")
	ch <- prometheus.MustNewConstMetric(busRings, prometheus.CounterValue, float64(stats.Received), "received")
	ch <- prometheus.MustNewConstMetric(busDropped, prometheus.CounterValue, float64(stats.Dropped))
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
