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
	name       string
	cumulative bool
	points     []point
	others     int // points of anything but a sum
}

// series is what is said of one model; see digest.Series.
type series struct {
	Model   string        `json:"model,omitempty"`
	Source  string        `json:"query_source,omitempty"`
	Total   string        `json:"total,omitempty"` // which series, and since when: it is cumulative
	From    schema.Millis `json:"from,omitempty"`
	Usage   *usage        `json:"usage,omitempty"`
	CostUSD float64       `json:"cost_usd,omitempty"`
}

// Metrics reads the body of POST /v1/metrics: all that is said of a session at the
// same time is one event.
func Metrics(body []byte) (Batch, error) {
	var b Batch
	told := map[said]map[string]*series{}
	err := start(body, func(w *walk, name string) error {
		if name != "resourceMetrics" {
			return w.SkipValue()
		}
		return w.array(func() error { return b.resourceMetrics(w, told) })
	})
	for _, key := range slices.SortedFunc(maps.Keys(told), said.compare) {
		if err == nil {
			err = b.told(key, told[key])
		}
	}
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// said is who says something, and when.
type said struct {
	agent, session string
	at             schema.Millis
}

func (a said) compare(b said) int {
	return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.at, b.at), cmp.Compare(a.agent, b.agent))
}

func (b *Batch) resourceMetrics(w *walk, told map[said]map[string]*series) error {
	var service string
	var found []metric
	err := w.object(func(name string) (err error) {
		switch name {
		case "resource":
			service, err = w.service()
			return err
		case "scopeMetrics":
			return w.array(func() error {
				return w.object(func(name string) error {
					if name != "metrics" {
						return w.SkipValue()
					}
					return w.array(func() error {
						m, err := w.metric()
						found = append(found, m)
						return err
					})
				})
			})
		default:
			return w.SkipValue()
		}
	})
	for _, m := range found {
		b.metric(service, m, told)
	}
	return err
}

func (w *walk) metric() (m metric, err error) {
	if err := w.record(); err != nil {
		return m, err
	}
	err = w.object(func(name string) (err error) {
		switch name {
		case "name":
			m.name, _, err = w.scalar()
			return err
		case "sum":
			return w.object(func(name string) error {
				switch name {
				case "aggregationTemporality":
					text, _, err := w.scalar()
					m.cumulative = text == "2" || text == "AGGREGATION_TEMPORALITY_CUMULATIVE"
					return err
				case "dataPoints":
					return w.array(func() error {
						p, err := w.point()
						m.points = append(m.points, p)
						return err
					})
				default:
					return w.SkipValue()
				}
			})
		case "gauge", "histogram", "exponentialHistogram", "summary":
			m.others++
			return w.SkipValue()
		default:
			return w.SkipValue()
		}
	})
	return m, err
}

func (w *walk) point() (p point, err error) {
	if err := w.record(); err != nil {
		return p, err
	}
	p.attributes = attributes{}
	err = w.object(func(name string) (err error) {
		switch name {
		case "startTimeUnixNano":
			p.from, err = w.nanos()
		case "timeUnixNano":
			p.to, err = w.nanos()
		case "asDouble", "asInt":
			p.value, err = w.number()
		case "attributes":
			err = w.attributes(p.attributes)
		default:
			err = w.SkipValue()
		}
		return err
	})
	return p, err
}

// metric keeps what Claude Code counts of tokens and cost.
func (b *Batch) metric(service string, m metric, told map[said]map[string]*series) {
	agent, name := agentOf(service, m.name)
	if agent != "claude-code" || name != "token.usage" && name != "cost.usage" {
		b.Ignored += len(m.points) + m.others
		return
	}
	b.Ignored += m.others
	for _, p := range m.points {
		session := p.attributes["session.id"]
		if session == "" {
			b.Rejected++
			continue
		}
		key := said{agent, session, p.to}
		if told[key] == nil {
			told[key] = map[string]*series{}
		}
		s := series{Model: p.attributes["model"], Source: p.attributes["query_source"], From: p.from}
		if m.cumulative {
			s.Total = strings.Join([]string{s.Model, s.Source, p.attributes["agent.name"], p.attributes["effort"], p.attributes["speed"], fmt.Sprint(p.from)}, "|")
		}
		s.count(name, p)
		which := fmt.Sprintf("%d|%s|%s|%s|%d", len(s.Model), s.Model, s.Source, s.Total, s.From)
		told[key][which] = s.plus(told[key][which])
	}
}

func (s *series) count(name string, p point) {
	if name == "cost.usage" {
		s.CostUSD = amount(p.value)
		return
	}
	s.Usage = &usage{}
	n := whole(p.value, maxTokens)
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

func (s *series) plus(o *series) *series {
	if o == nil {
		return s
	}
	s.CostUSD += o.CostUSD
	switch {
	case s.Usage == nil:
		s.Usage = o.Usage
	case o.Usage != nil:
		s.Usage = &usage{
			Input: s.Usage.Input + o.Usage.Input, Output: s.Usage.Output + o.Usage.Output,
			CacheRead: s.Usage.CacheRead + o.Usage.CacheRead, CacheWrite: s.Usage.CacheWrite + o.Usage.CacheWrite,
		}
	}
	return s
}

// told makes the event of what is said at a time.
func (b *Batch) told(key said, all map[string]*series) error {
	var list []*series
	sum := &series{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
		sum = (&series{CostUSD: all[name].CostUSD, Usage: all[name].Usage}).plus(sum)
	}
	of := schema.Event{SourceApp: key.agent, Agent: key.agent, SessionID: key.session, HookEventType: "ApiUsage", Timestamp: key.at}
	if sum.Usage != nil {
		of.Summary = fmt.Sprintf("%s in, %s out, $%.4f", short(sum.Usage.Input+sum.Usage.CacheRead+sum.Usage.CacheWrite), short(sum.Usage.Output), sum.CostUSD)
	}
	e, err := event(of, struct {
		Series []*series `json:"series"`
	}{list})
	b.Events = append(b.Events, e)
	return err
}
