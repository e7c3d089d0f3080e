package sessions

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema/history"
)

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
