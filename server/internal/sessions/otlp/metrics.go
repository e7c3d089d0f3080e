package otlp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// point is a data point of a sum.
type point struct {
	from, to schema.Millis
	value    float64
	attributes
}

// metric is a sum with its points.
type metric struct {
	name        string
	cumulative  bool
	points      []point
	unsupported int // points of other metric types
}

// modelSeries is the usage of one model; see digest.MetricSeries.
type modelSeries struct {
	Model   string        `json:"model,omitempty"`
	Source  string        `json:"query_source,omitempty"`
	Total   string        `json:"total,omitempty"` // identifies a cumulative series and its start; empty: an increase
	From    schema.Millis `json:"from,omitempty"`
	Usage   *tokenUsage   `json:"usage,omitempty"`
	CostUSD float64       `json:"cost_usd,omitempty"`
}

// Metrics reads the body of POST /v1/metrics. It merges the data points of one session and time
// into one event.
func Metrics(body []byte) (Batch, error) {
	var b Batch
	series := map[seriesKey]map[string]*modelSeries{}
	err := readBody(body, func(jr *jsonReader, name string) error {
		if name != "resourceMetrics" {
			return jr.SkipValue()
		}
		return jr.readArray(func() error { return b.readResourceMetrics(jr, series) })
	})
	for _, key := range slices.SortedFunc(maps.Keys(series), seriesKey.compare) {
		if err == nil {
			err = b.emitSeries(key, series[key])
		}
	}
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// seriesKey identifies the event that a data point belongs to.
type seriesKey struct {
	agent, session string
	at             schema.Millis
}

func (a seriesKey) compare(b seriesKey) int {
	return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.at, b.at), cmp.Compare(a.agent, b.agent))
}

func (b *Batch) readResourceMetrics(jr *jsonReader, series map[seriesKey]map[string]*modelSeries) error {
	var service string
	var metrics []metric
	err := jr.readObject(func(name string) (err error) {
		switch name {
		case "resource":
			service, err = jr.readServiceName()
			return err
		case "scopeMetrics":
			return jr.readArray(func() error {
				return jr.readObject(func(name string) error {
					if name != "metrics" {
						return jr.SkipValue()
					}
					return jr.readArray(func() error {
						m, err := jr.readMetric()
						metrics = append(metrics, m)
						return err
					})
				})
			})
		default:
			return jr.SkipValue()
		}
	})
	for _, m := range metrics {
		b.addMetric(service, m, series)
	}
	return err
}

func (jr *jsonReader) readMetric() (m metric, err error) {
	if err := jr.countRecord(); err != nil {
		return m, err
	}
	err = jr.readObject(func(name string) (err error) {
		switch name {
		case "name":
			m.name, _, err = jr.readScalar()
			return err
		case "sum":
			return jr.readObject(func(name string) error {
				switch name {
				case "aggregationTemporality":
					text, _, err := jr.readScalar()
					m.cumulative = text == "2" || text == "AGGREGATION_TEMPORALITY_CUMULATIVE"
					return err
				case "dataPoints":
					return jr.readArray(func() error {
						p, err := jr.readPoint()
						m.points = append(m.points, p)
						return err
					})
				default:
					return jr.SkipValue()
				}
			})
		case "gauge", "histogram", "exponentialHistogram", "summary":
			m.unsupported++
			return jr.SkipValue()
		default:
			return jr.SkipValue()
		}
	})
	return m, err
}

func (jr *jsonReader) readPoint() (p point, err error) {
	if err := jr.countRecord(); err != nil {
		return p, err
	}
	p.attributes = attributes{}
	err = jr.readObject(func(name string) (err error) {
		switch name {
		case "startTimeUnixNano":
			p.from, err = jr.readTime()
		case "timeUnixNano":
			p.to, err = jr.readTime()
		case "asDouble", "asInt":
			p.value, err = jr.readNumber()
		case "attributes":
			err = jr.readAttributes(p.attributes)
		default:
			err = jr.SkipValue()
		}
		return err
	})
	return p, err
}

// addMetric adds Claude Code's token and cost counters and counts the other data points.
func (b *Batch) addMetric(service string, m metric, series map[seriesKey]map[string]*modelSeries) {
	agent, name := agentOf(service, m.name)
	if agent != "claude-code" || name != "token.usage" && name != "cost.usage" {
		b.Ignored += len(m.points) + m.unsupported
		return
	}
	b.Ignored += m.unsupported
	for _, p := range m.points {
		session := p.attributes["session.id"]
		if session == "" {
			b.Rejected++
			continue
		}
		key := seriesKey{agent, session, p.to}
		if series[key] == nil {
			series[key] = map[string]*modelSeries{}
		}
		s := modelSeries{Model: p.attributes["model"], Source: p.attributes["query_source"], From: p.from}
		if m.cumulative {
			s.Total = strings.Join([]string{s.Model, s.Source, p.attributes["agent.name"], p.attributes["effort"], p.attributes["speed"], fmt.Sprint(p.from)}, "|")
		}
		s.setValue(name, p)
		modelKey := fmt.Sprintf("%d|%s|%s|%s|%d", len(s.Model), s.Model, s.Source, s.Total, s.From)
		series[key][modelKey] = s.add(series[key][modelKey])
	}
}

func (s *modelSeries) setValue(name string, p point) {
	if name == "cost.usage" {
		s.CostUSD = boundedCost(p.value)
		return
	}
	s.Usage = &tokenUsage{}
	n := boundedInt(p.value, maxTokens)
	switch p.attributes["type"] {
	case "input":
		s.Usage.Input = n
	case "output":
		s.Usage.Output = n
	case "cacheRead":
		s.Usage.CacheRead = n
	case "cacheCreation":
		s.Usage.CacheWrite = n
	}
}

func (s *modelSeries) add(o *modelSeries) *modelSeries {
	if o == nil {
		return s
	}
	s.CostUSD += o.CostUSD
	switch {
	case s.Usage == nil:
		s.Usage = o.Usage
	case o.Usage != nil:
		s.Usage = &tokenUsage{
			Input: s.Usage.Input + o.Usage.Input, Output: s.Usage.Output + o.Usage.Output,
			CacheRead: s.Usage.CacheRead + o.Usage.CacheRead, CacheWrite: s.Usage.CacheWrite + o.Usage.CacheWrite,
		}
	}
	return s
}

// emitSeries appends the event for the series of one session and time.
func (b *Batch) emitSeries(key seriesKey, byModel map[string]*modelSeries) error {
	var list []*modelSeries
	sum := &modelSeries{}
	for _, name := range slices.Sorted(maps.Keys(byModel)) {
		list = append(list, byModel[name])
		sum = (&modelSeries{CostUSD: byModel[name].CostUSD, Usage: byModel[name].Usage}).add(sum)
	}
	event := schema.Event{SourceApp: key.agent, Agent: key.agent, SessionID: key.session, HookEventType: "ApiUsage", Timestamp: key.at}
	if sum.Usage != nil {
		event.Summary = fmt.Sprintf("%s in, %s out, $%.4f", formatCount(sum.Usage.Input+sum.Usage.CacheRead+sum.Usage.CacheWrite), formatCount(sum.Usage.Output), sum.CostUSD)
	}
	e, err := newEvent(event, struct {
		Series []*modelSeries `json:"series"`
	}{list})
	b.Events = append(b.Events, e)
	return err
}
