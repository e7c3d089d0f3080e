package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// defaultReportAge is how far back a report goes by default.
	defaultReportAge = 12 * time.Hour
	// reportPage is the number of rows that a count reads at a time.
	reportPage = 1000
	// reportTimeLimit limits each count of a report.
	reportTimeLimit = 5 * time.Second
	// maxLoops limits the loops of a report, so that a filter can name them.
	maxLoops = 25
	// reportNames is the number of applications that a line names, and maxReportName limits each, in characters.
	reportNames, maxReportName = 3, 40
)

// reportLine is a line whose rows are the events that a filter selects. test excludes the events of tests.
type reportLine struct {
	kind      history.ReportKind
	filter    string
	always    bool   // whatever the range
	one, many string // the noun, and after | the verb
	text      string // %s: the names of applications
}

const noTests = " -app:" + schema.TestApp

var reportLines = []reportLine{
	{history.ReportWaiting, "status:pending" + noTests, true, "request|waits ", "requests|wait ", "for an answer: %s"},
	{history.ReportExpired, "status:timeout" + noTests, false, "request", "requests", "got no answer in time: %s"},
	{history.ReportFinished, "type:stop" + noTests, false, "turn", "turns", "ended: %s"},
	{history.ReportRefused, "decided:* outcome:refused", false, "call|was ", "calls|were ", "refused: %s"},
	{history.ReportUnasked, "decided:agent risk:>=medium outcome:/^(ran|failed)$/", false, "risky call", "risky calls", "ran unasked: %s"},
	{history.ReportFailed, "error:/./" + noTests, false, "error", "errors", "reported: %s"},
}

// report is one report while it is made.
type report struct {
	*Service
	history.Report
	from, to time.Time
}

// Report returns what happened since a time, which is a duration such as 12h or 3d, a time in Unix ms, or empty.
// Each number is that of the rows that the list behind its link shows. With check it counts them again.
func (s *Service) Report(ctx context.Context, since string, check bool) (history.Report, error) {
	r := &report{Service: s, to: s.Clock()}
	var err error
	if r.from, err = parseSince(since, r.to); err != nil {
		return r.Report, err
	}
	if err := s.searches.acquire(ctx); err != nil {
		return r.Report, err
	}
	defer s.searches.release()
	r.Since, r.Until, r.Lines = schema.Millis(r.from.UnixMilli()), schema.Millis(r.to.UnixMilli()), []history.ReportLine{}
	if s.Store.Pruned() > 0 {
		oldest, err := s.Store.Find(ctx, store.Filter{Oldest: true, Limit: 1})
		if err != nil {
			return r.Report, err
		}
		if len(oldest) > 0 && oldest[0].ReceivedAt.After(r.from) {
			r.KnownFrom = schema.Millis(oldest[0].ReceivedAt.UnixMilli())
		}
	}
	for i := range reportLines {
		if err := r.addRows(ctx, &reportLines[i]); err != nil {
			return r.Report, err
		}
	}
	counts := &eventCounts{runs: map[store.SessionKey]*sessionRun{}, apps: map[string]int64{}}
	if check {
		counts.again, counts.ends = map[history.ReportKind]int64{}, map[store.SessionKey][]*digest.EventFacts{}
	}
	if err = r.addLoops(ctx, counts); err == nil {
		err = r.addCost(ctx)
	}
	if err == nil && check {
		err = r.check(ctx, counts.again)
	}
	return r.Report, err
}

// parseSince returns the start of a report.
func parseSince(text string, now time.Time) (from time.Time, err error) {
	invalid := &schema.FieldError{Field: "since", Detail: "must be a duration such as 12h or 3d, or a time in Unix ms, at most 31 days ago"}
	days, isDays := strings.CutSuffix(text, "d")
	ms, notTime := strconv.ParseInt(text, 10, 64)
	switch n, notDays := strconv.ParseUint(days, 10, 8); {
	case text == "":
		from = now.Add(-defaultReportAge)
	case notTime == nil:
		from = time.UnixMilli(ms)
	case isDays && notDays == nil:
		from = now.Add(-time.Duration(n) * 24 * time.Hour) //nolint:gosec // at most 255
	default:
		age, err := time.ParseDuration(text)
		if err != nil {
			return from, invalid
		}
		from = now.Add(-age)
	}
	if !from.Before(now) || now.Sub(from) > history.MaxReportAge {
		return from, invalid
	}
	return from, nil
}

// addRows adds a line with the events that its filter selects.
func (r *report) addRows(ctx context.Context, of *reportLine) error {
	selected, err := filter.Parse(of.filter)
	if err != nil {
		return err
	}
	q := store.Search{Filter: selected, Limit: reportPage, MaxBytes: query.MaxPageBytes, Oldest: true, Timeout: reportTimeLimit}
	from, to := r.Since, r.Until
	if of.always {
		from, to = 0, 0
	} else {
		q.From, q.To = r.from, r.to
	}
	line, apps, began := history.ReportLine{Kind: of.kind}, map[string]int64{}, time.Now()
	for more := true; more; {
		page, err := r.Store.Search(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if line.Count++; line.Count == 1 && of.always {
				line.Oldest = schema.Millis(e.ReceivedAt.UnixMilli())
				from = line.Oldest
			}
			apps[e.App]++
		}
		more, q.After = !page.Complete, page.SearchedTo
		if more && time.Since(began) > reportTimeLimit {
			line.AtLeast, more = true, false
		}
	}
	line.Text = fmt.Sprintf(of.text, namesOf(apps))
	if of.always {
		line.Text += "; the oldest for " + ageText(r.to.Sub(time.UnixMilli(int64(line.Oldest))))
	}
	line.Link = streamLink(of.filter, from, to)
	r.add(line, of.one, of.many)
	return nil
}

// add adds a line unless it counts nothing.
func (r *report) add(line history.ReportLine, one, many string) {
	if line.Count == 0 {
		return
	}
	noun, verb, _ := strings.Cut(many, "|")
	if line.Count == 1 {
		noun, verb, _ = strings.Cut(one, "|")
	}
	line.Number, line.Text = fmt.Sprintf("%d %s", line.Count, noun), verb+line.Text
	if line.AtLeast {
		line.Number = "at least " + line.Number
	}
	r.Lines = append(r.Lines, line)
}

// streamLink returns the address of the list of events that a filter selects in a range; 0: no bound.
func streamLink(text string, from, to schema.Millis) string {
	link := "/stream?q=" + url.QueryEscape(text)
	if from > 0 {
		link += fmt.Sprintf("&from=%d", from)
	}
	if to > 0 {
		link += fmt.Sprintf("&to=%d", to)
	}
	return link
}

// eventCounts are the counts for which the events are read one by one.
type eventCounts struct {
	limits control.AlertRule
	runs   map[store.SessionKey]*sessionRun
	loops  []string // the calls from which runs of equal calls are loops
	apps   map[string]int64

	again map[history.ReportKind]int64 // the second count; nil: none
	ends  map[store.SessionKey][]*digest.EventFacts
}

type sessionRun struct {
	digest.Repeats
	isLoop bool
}

// add adds an event. It returns false once there are enough loops.
func (c *eventCounts) add(e *store.Event) bool {
	if c.again != nil {
		c.recount(e)
	}
	kind, key := digest.KindOf(e.Type), store.SessionKey{App: e.App, Session: e.Session}
	if kind != digest.Prompt && kind != digest.ToolStart && kind != digest.ToolEnd {
		return true
	}
	run := c.runs[key]
	if run == nil {
		run = &sessionRun{}
		c.runs[key] = run
	}
	if kind != digest.ToolEnd {
		run.Step()
		return true
	}
	f := e.Facts(nil)
	if !run.Add(f) {
		return true
	}
	if c.again != nil {
		c.ends[key] = append(c.ends[key], f)
	}
	run.isLoop = run.isLoop && run.Equal > 1
	if !run.isLoop && (run.Equal >= c.limits.Calls || run.Failures >= c.limits.Failures) {
		run.isLoop = true
		c.loops = append(c.loops, e.ID.String())
		c.apps[e.App]++
	}
	return len(c.loops) < maxLoops
}

// addLoops adds the runs of equal calls.
func (r *report) addLoops(ctx context.Context, c *eventCounts) error {
	c.limits = control.AlertRule{Kind: control.AlertLoop}
	if err := c.limits.Normalize(); err != nil { // its defaults
		return err
	}
	complete, err := r.eachEvent(ctx, c.add)
	if !complete {
		c.again, c.ends = nil, nil
	}
	for _, calls := range c.ends {
		c.again[history.ReportLoops] += countLoops(calls)
	}
	r.add(history.ReportLine{
		Kind: history.ReportLoops, Count: int64(len(c.loops)), AtLeast: !complete, Text: "of the same call: " + namesOf(c.apps),
		Link: streamLink("id:/^("+strings.Join(c.loops, "|")+")$/", r.Since, r.Until),
	}, "loop", "loops")
	return err
}

// eachEvent calls fn with each event of the range, without those of tests, until it returns false. complete reports
// whether it had all of them.
func (r *report) eachEvent(ctx context.Context, fn func(e *store.Event) bool) (complete bool, err error) {
	first, err := r.Store.Find(ctx, store.Filter{From: r.from, To: r.to, Oldest: true, Limit: 1})
	if err != nil || len(first) == 0 {
		return err == nil, err
	}
	began := time.Now()
	for at := int64(first[0].ID) - 1; time.Since(began) < reportTimeLimit; {
		rows, err := r.Store.After(ctx, max(at, r.Store.Pruned()), reportPage)
		if err != nil && !errors.Is(err, store.ErrPruned) { // retention runs: read on
			return false, err
		}
		for i := range rows {
			switch e := rows[i].Event; {
			case rows[i].Change, e.App == schema.TestApp:
			case !e.ReceivedAt.Before(r.to):
				return true, nil
			case !fn(e):
				return false, nil
			}
		}
		if err == nil && len(rows) == 0 {
			return true, nil
		}
		if len(rows) > 0 {
			at = rows[len(rows)-1].Seq
		}
	}
	return false, nil
}

func (r *report) addCost(ctx context.Context) error {
	spend, err := r.SpendReport(ctx, SpendGroups{App: true}, query.StatsRange{From: r.from, Zone: time.UTC})
	if err != nil || spend.CostUSD < 0.005 {
		return err
	}
	apps := map[string]int64{}
	for _, row := range spend.Rows {
		apps[value(row.App)] = int64(row.CostUSD * 1e6)
	}
	r.Lines = append(r.Lines, history.ReportLine{
		Kind: history.ReportCost, CostUSD: spend.CostUSD, Number: fmt.Sprintf("$%.2f", spend.CostUSD), Text: "spent: " + namesOf(apps),
		Link: fmt.Sprintf("/overview?since=%d", r.Since),
	})
	return nil
}

// check compares each line with a second count: separate statements of the store, or the events one by one.
func (r *report) check(ctx context.Context, again map[history.ReportKind]int64) error {
	counted, err := r.Store.Recount(ctx, r.from, r.to)
	if err != nil {
		return err
	}
	r.Checked = again != nil
	maps.Copy(counted.Rows, again)
	for _, of := range append(slices.Clone(reportLines), reportLine{kind: history.ReportLoops}) {
		i := slices.IndexFunc(r.Lines, func(line history.ReportLine) bool { return line.Kind == of.kind })
		n, isCounted := counted.Rows[of.kind]
		switch {
		case !isCounted || i >= 0 && (r.Lines[i].AtLeast || r.Lines[i].Count == n):
		case i >= 0:
			r.Lines[i].Differs = strconv.FormatInt(n, 10)
		case n > 0: // it counted none
			r.Lines = append(r.Lines, history.ReportLine{
				Kind: of.kind, Number: "0 rows", Text: "of kind " + string(of.kind), Link: streamLink(of.filter, r.Since, r.Until), Differs: strconv.FormatInt(n, 10),
			})
		}
	}
	if i := len(r.Lines) - 1; i >= 0 && r.Lines[i].Kind == history.ReportCost && math.Abs(r.Lines[i].CostUSD-counted.CostUSD) > 1e-6 {
		r.Lines[i].Differs = fmt.Sprintf("$%.2f", counted.CostUSD)
	}
	return nil
}

// recount counts the facts of one event.
func (c *eventCounts) recount(e *store.Event) {
	if strings.EqualFold(e.Type, "stop") {
		c.again[history.ReportFinished]++
	}
	if digest.StringValue(digest.FindMember(e.EnvelopeObject(), "error")) != "" {
		c.again[history.ReportFailed]++
	}
}

// countLoops returns the number of runs of at least 8 equal calls, or with 5 equal failures in a row.
func countLoops(calls []*digest.EventFacts) (loops int64) {
	name := func(f *digest.EventFacts) string {
		return fmt.Sprintf("%s\x00%s\x00%d", f.Agent, f.Tool, f.InputHash)
	}
	for start := 0; start < len(calls); {
		end := start + 1
		for end < len(calls) && calls[start].InputHash != 0 && name(calls[end]) == name(calls[start]) {
			end++
		}
		failures, most := 0, 0
		for i := start; i < end; i++ {
			if failures++; !calls[i].Failed {
				failures = 0
			} else if i > start && calls[i].Error != calls[i-1].Error {
				failures = 1
			}
			most = max(most, failures)
		}
		if end-start >= 8 || most >= 5 {
			loops++
		}
		start = end
	}
	return loops
}

// namesOf returns the applications with the most rows, on one line.
func namesOf(apps map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(apps), func(a, b string) int {
		return cmp.Or(cmp.Compare(apps[b], apps[a]), cmp.Compare(a, b))
	})
	rest := ""
	if len(names) > reportNames {
		names, rest = names[:reportNames], " and others"
	}
	for i := range names {
		names[i] = digest.OneLine(names[i], maxReportName)
	}
	return strings.Join(names, ", ") + rest
}

// ageText returns an age such as "3 h 12 min".
func ageText(age time.Duration) string {
	switch minutes := int64(age.Minutes()); {
	case minutes < 1:
		return "less than a minute"
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	default:
		return fmt.Sprintf("%d days", minutes/60/24)
	}
}
