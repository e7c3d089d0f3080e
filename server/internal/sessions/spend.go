package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// SpendGroups selects the members by which a spend report groups.
type SpendGroups struct{ Day, App, Model, Person, Project bool }

// ParseSpendGroups reads the names of groups, separated by commas.
func ParseSpendGroups(list string) (g SpendGroups, err error) {
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "day":
			g.Day = true
		case "app":
			g.App = true
		case "model":
			g.Model = true
		case "person":
			g.Person = true
		case "project":
			g.Project = true
		default:
			return g, &schema.FieldError{Field: "by", Detail: "must be day, app, model, person and project, separated by commas"}
		}
	}
	return g, nil
}

// row returns the row that a usage on day belongs to, without the usage.
func (g SpendGroups) row(day string, of store.SpendGroup) history.SpendRow {
	var row history.SpendRow
	for _, member := range []struct {
		isGroup bool
		into    **string
		value   string
	}{
		{g.Day, &row.Day, day}, {g.App, &row.App, of.App}, {g.Model, &row.Model, of.Model},
		{g.Person, &row.Person, of.Person}, {g.Project, &row.Project, of.Project},
	} {
		if member.isGroup {
			*member.into = &member.value
		}
	}
	return row
}

// spendKey is a SpendRow without pointers.
type spendKey struct{ day, app, model, person, project string }

// SpendReport returns the tokens and the cost of a range up to now, from the start of its first quarter-hour. It
// brings the projections up to date first.
func (s *Service) SpendReport(ctx context.Context, groups SpendGroups, days query.StatsRange) (history.SpendReport, error) {
	r := history.SpendReport{Rows: []history.SpendRow{}, LagMS: s.catchUp(ctx)}
	now := s.Clock()
	starts, err := days.Edges(now)
	if err != nil {
		return r, err
	}
	edges := make([]int64, len(starts))
	for i, start := range starts {
		edges[i] = quarterHour(start.UnixMilli())
	}
	r.From, r.To = schema.Millis(edges[0]*store.QuarterMS), schema.Millis(now.UnixMilli())
	spend, err := s.Store.Spend(ctx, edges[0], max(edges[len(edges)-1], quarterHour(now.UnixMilli())+1))
	if err != nil {
		return r, err
	}
	rows := map[spendKey]history.SpendRow{}
	for group, used := range spend {
		i, _ := slices.BinarySearch(edges, group.Quarter+1)
		fresh := groups.row(starts[i-1].Format(time.DateOnly), group)
		key := spendKey{value(fresh.Day), value(fresh.App), value(fresh.Model), value(fresh.Person), value(fresh.Project)}
		row, known := rows[key]
		if !known {
			row = fresh
		}
		row.Tokens, row.CostUSD = row.Tokens.Add(used.Tokens), row.CostUSD+used.CostUSD
		rows[key] = row
		r.Tokens, r.CostUSD = r.Tokens.Add(used.Tokens), r.CostUSD+used.CostUSD
	}
	for _, row := range rows {
		row.CostUSD = max(0, row.CostUSD) // sums of fractions
		if row.CostUSD > 0 || row.Tokens != (history.Tokens{}) {
			r.Rows = append(r.Rows, row)
		}
	}
	slices.SortFunc(r.Rows, func(a, b history.SpendRow) int {
		return cmp.Or(cmp.Compare(value(a.Day), value(b.Day)), cmp.Compare(b.CostUSD, a.CostUSD),
			cmp.Compare(value(a.App), value(b.App)), cmp.Compare(value(a.Model), value(b.Model)),
			cmp.Compare(value(a.Person), value(b.Person)),
			cmp.Compare(value(a.Project), value(b.Project)))
	})
	return r, nil
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// SpendCSV returns the rows of a spend report as a table with a header.
func SpendCSV(groups SpendGroups, rows []history.SpendRow) []byte {
	columns := []struct {
		isShown bool
		name    string
		cell    func(row *history.SpendRow) string
	}{
		{groups.Day, "day", func(row *history.SpendRow) string { return value(row.Day) }},
		{groups.App, "source_app", func(row *history.SpendRow) string { return plainCell(value(row.App)) }},
		{groups.Model, "model", func(row *history.SpendRow) string { return plainCell(value(row.Model)) }},
		{groups.Person, "person", func(row *history.SpendRow) string { return plainCell(value(row.Person)) }},
		{groups.Project, "project", func(row *history.SpendRow) string { return plainCell(value(row.Project)) }},
		{true, "input_tokens", func(row *history.SpendRow) string { return strconv.FormatInt(row.Tokens.Input, 10) }},
		{true, "output_tokens", func(row *history.SpendRow) string { return strconv.FormatInt(row.Tokens.Output, 10) }},
		{true, "cache_read_tokens", func(row *history.SpendRow) string { return strconv.FormatInt(row.Tokens.CacheRead, 10) }},
		{true, "cache_write_tokens", func(row *history.SpendRow) string { return strconv.FormatInt(row.Tokens.CacheWrite, 10) }},
		{true, "cost_usd", func(row *history.SpendRow) string { return strconv.FormatFloat(row.CostUSD, 'f', 6, 64) }},
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	line := func(cell func(i int) string) {
		var cells []string
		for i := range columns {
			if columns[i].isShown {
				cells = append(cells, cell(i))
			}
		}
		_ = w.Write(cells) // to memory
	}
	line(func(i int) string { return columns[i].name })
	for k := range rows {
		line(func(i int) string { return columns[i].cell(&rows[k]) })
	}
	w.Flush()
	return table.Bytes()
}

// plainCell marks a text of an agent that a spreadsheet would run as a formula.
func plainCell(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
