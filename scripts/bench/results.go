package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the values of each metric, one of each run.
type results map[metric][]float64

// processors is the suffix of a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// read adds the values that a test binary prints, and copies its lines to progress.
func (r results) read(output io.Reader, progress io.Writer) error {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		_, _ = fmt.Fprintln(progress, lines.Text())
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(fields[0], "")
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break // a line of the log
			}
			key := metric{name, fields[i+1]}
			r[key] = append(r[key], value)
		}
	}
	return lines.Err()
}

// median returns the median of a metric; false: there is none.
func (r results) median(m metric) (float64, bool) {
	values := slices.Sorted(slices.Values(r[m]))
	if len(values) == 0 {
		return 0, false
	}
	return values[(len(values)-1)/2], true
}

// write prints a table in Markdown. Figures that were not measured are left out.
func (r results) write(out io.Writer, t table) {
	var rows []string
	for _, f := range t.figures {
		if row, ok := r.row(f); ok {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "\n## %s\n\n| Measurement | Hookback | Compared | Ratio | Goal | Met |\n|---|---|---|---|---|---|\n%s\n", t.title, strings.Join(rows, "\n"))
}

func (r results) row(f figure) (row string, ok bool) {
	value, ok := r.median(f.value)
	if !ok {
		return "", false
	}
	compared, ratio, result := "", "", value
	if f.against != (metric{}) {
		other, ok := r.median(f.against)
		if !ok || other == 0 {
			return "", false
		}
		result = value / other
		compared, ratio = format(other), format(result)+"×"
	}
	goal, met := "", ""
	if f.goal > 0 {
		sign, reached := "≤", result <= f.goal
		if f.atLeast {
			sign, reached = "≥", result >= f.goal
		}
		goal, met = sign+" "+strconv.FormatFloat(f.goal, 'f', -1, 64), "**no**"
		if ratio != "" {
			goal += "×"
		}
		if reached {
			met = "yes"
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", f.name, format(value), compared, ratio, goal, met), true
}

// format prints three significant digits.
func format(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
