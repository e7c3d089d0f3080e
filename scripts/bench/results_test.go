package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const output = `goos: linux
BenchmarkPaced/hub/rate=50/pages=0-2         	     200	      3000 cpu-µs/event	         1.0 fsyncs/event
    a_test.go:1: BenchmarkPaced is a line of the log
BenchmarkPaced/reference/rate=50/pages=0-2   	     200	      1000 cpu-µs/event
BenchmarkPaced/hub/rate=50/pages=0-2         	     200	      2000 cpu-µs/event	         1.5 fsyncs/event
BenchmarkPaced/hub/rate=50/pages=0-2         	     200	      9000 cpu-µs/event	         1.2 fsyncs/event
PASS
`

func TestResults_WriteFiguresNextToTheirGoals(t *testing.T) {
	t.Parallel()
	r := results{}
	require.NoError(t, r.read(strings.NewReader(output), io.Discard))
	cpu := versusReference("CPU", loadMetric{"Paced", plain, "cpu-µs/event"}, 1)
	for name, c := range map[string]struct {
		figure figure
		row    string
	}{
		"ratio of medians":  {cpu, "| CPU | 3000 | 1000 | 3× | ≤ 1× | **no** |"},
		"lower bound":       {atLeast(cpu), "| CPU | 3000 | 1000 | 3× | ≥ 1× | yes |"},
		"absolute goal":     {figure{name: "fsyncs", value: load("Paced", "hub", plain, "fsyncs/event"), goal: 1.2}, "| fsyncs | 1.2 |  |  | ≤ 1.2 | yes |"},
		"without a goal":    {figure{name: "fsyncs", value: load("Paced", "hub", plain, "fsyncs/event")}, "| fsyncs | 1.2 |  |  |  |  |"},
		"not measured":      {figure{name: "n", value: metric{"BenchmarkNone", "ms"}}, ""},
		"nothing to divide": {figure{name: "n", value: cpu.value, against: metric{"BenchmarkNone", "ms"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, ok := r.row(c.figure)
			require.Equal(t, c.row, row)
			require.Equal(t, c.row != "", ok)
		})
	}
	var out bytes.Buffer
	r.write(&out, table{"Growth", []figure{{name: "n", value: metric{"BenchmarkNone", "ms"}}}})
	require.Empty(t, out.String(), "a table of which nothing was measured")
}
