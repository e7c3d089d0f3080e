package otlp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// point is a data point of a sum.
type point struct {
	From       scalar      `json:"startTimeUnixNano" pb:"2,fixed"`
	To         scalar      `json:"timeUnixNano" pb:"3,fixed"`
	Double     scalar      `json:"asDouble" pb:"4,double"`
	Int        scalar      `json:"asInt" pb:"6,fixed"`
	Attributes []attribute `json:"attributes" pb:"7"`
}

func (p *point) value() float64 { return cmp.Or(p.Double, p.Int).number() }

// metric is a sum with its points, or a metric of another type, which is only counted.
type metric struct {
	Name scalar `json:"name" pb:"1,text"`
	Sum  struct {
		Temporality scalar  `json:"aggregationTemporality" pb:"2,int"`
		Points      []point `json:"dataPoints" pb:"1"`
	} `json:"sum" pb:"7"`
	Gauge       json.RawMessage `json:"gauge" pb:"5"`
	Histogram   json.RawMessage `json:"histogram" pb:"9"`
	Exponential json.RawMessage `json:"exponentialHistogram" pb:"10"`
	Summary     json.RawMessage `json:"summary" pb:"11"`
}

// unsupported returns the number of other types that the metric has.
func (m *metric) unsupported() (n int) {
	for _, raw := range []json.RawMessage{m.Gauge, m.Histogram, m.Exponential, m.Summary} {
		if raw != nil {
			n++
		}
	}
	return n
}

func (m *metric) isCumulative() bool {
	return m.Sum.Temporality == "2" || m.Sum.Temporality == "AGGREGATION_TEMPORALITY_CUMULATIVE"
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

// metricsRequest is the body of POST /v1/metrics.
type metricsRequest struct {
	ResourceMetrics []struct {
		Resource     resource `json:"resource" pb:"1"`
		ScopeMetrics []struct {
			Metrics []metric `json:"metrics" pb:"2"`
		} `json:"scopeMetrics" pb:"2"`
	} `json:"resourceMetrics" pb:"1"`
}

// batch merges the data points of one session and time into one event.
func (request metricsRequest) batch() (b Batch, err error) {
	records, series := 0, map[seriesKey]map[string]*modelSeries{}
	for i := range request.ResourceMetrics {
		source := &request.ResourceMetrics[i]
		service := source.Resource.serviceName()
		for _, scope := range source.ScopeMetrics {
			for k := range scope.Metrics {
				m := &scope.Metrics[k]
				if records += 1 + len(m.Sum.Points); records > MaxRecords {
					return b, ErrMalformed
				}
				b.addMetric(service, m, series)
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(series), seriesKey.compare) {
		if err := b.emitSeries(key, series[key]); err != nil {
			return b, err
		}
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

// addMetric adds Claude Code's token and cost counters and counts the other data points.
func (b *Batch) addMetric(service string, m *metric, series map[seriesKey]map[string]*modelSeries) {
	agent, name := agentOf(service, string(m.Name))
	if agent != "claude-code" || name != "token.usage" && name != "cost.usage" {
		b.Ignored += len(m.Sum.Points) + m.unsupported()
		return
	}
	b.Ignored += m.unsupported()
	for i := range m.Sum.Points {
		p := &m.Sum.Points[i]
		attrs := newAttributes(p.Attributes)
		session := attrs["session.id"]
		if session == "" {
			b.Rejected++
			continue
		}
		key := seriesKey{agent, session, p.To.time()}
		if series[key] == nil {
			series[key] = map[string]*modelSeries{}
		}
		s := modelSeries{Model: attrs["model"], Source: attrs["query_source"], From: p.From.time()}
		if m.isCumulative() {
			s.Total = strings.Join([]string{s.Model, s.Source, attrs["agent.name"], attrs["effort"], attrs["speed"], fmt.Sprint(s.From)}, "|")
		}
		s.setValue(name, attrs["type"], p.value())
		modelKey := fmt.Sprintf("%d|%s|%s|%s|%d", len(s.Model), s.Model, s.Source, s.Total, s.From)
		series[key][modelKey] = s.add(series[key][modelKey])
	}
}

// setValue sets the value of a metric of that name and type of tokens.
func (s *modelSeries) setValue(name, tokenType string, value float64) {
	if name == "cost.usage" {
		s.CostUSD = boundedCost(value)
		return
	}
	s.Usage = &tokenUsage{}
	n := boundedInt(value, maxTokens)
	switch tokenType {
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
		event.Summary = fmt.Sprintf("%s in, %s out, $%.4f", formatCount(sum.Usage.Input+sum.Usage.CacheRead+sum.Usage.CacheWrite),
			formatCount(sum.Usage.Output), sum.CostUSD)
	}
	e, err := newEvent(event, struct {
		Series []*modelSeries `json:"series"`
	}{list})
	b.Events = append(b.Events, e)
	return err
}
