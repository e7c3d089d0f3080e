package risk

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

//go:embed testdata/sample.txt
var sample string

// The measured figures, in percent. They may only rise.
const (
	minPrecisionMedium, minRecallMedium = 96, 76
	minPrecisionHigh, minRecallHigh     = 76, 90
)

// sampleCase is one line of the sample.
type sampleCase struct {
	label     schema.Risk // empty: nothing to see
	tool      string
	arguments json.RawMessage
	line      string
}

func sampleCases(t *testing.T) (cases []sampleCase) {
	t.Helper()
	for line := range strings.Lines(sample) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		require.GreaterOrEqual(t, len(fields), 3, line)
		c := sampleCase{tool: fields[1], line: line}
		if fields[0] != "-" {
			c.label = schema.Risk(fields[0])
		}
		text := strings.TrimSpace(line[strings.Index(line, " "+c.tool+" ")+len(c.tool)+2:])
		if c.arguments = json.RawMessage(text); c.tool == "Bash" {
			c.arguments = mustMarshal(map[string]string{"command": strings.ReplaceAll(text, "⏎", "\n")})
		}
		cases = append(cases, c)
	}
	return cases
}

// TestAssess_Sample compares the ratings of 300 calls with labels that a person gave them before. -v prints
// each difference. Precision is the share of found calls that are worth it, recall the share of those
// worth it that are found.
func TestAssess_Sample(t *testing.T) {
	t.Parallel()
	cases := sampleCases(t)
	require.Len(t, cases, 300)
	for _, level := range []struct {
		from              schema.Risk
		precision, recall int
	}{{schema.MediumRisk, minPrecisionMedium, minRecallMedium}, {schema.HighRisk, minPrecisionHigh, minRecallHigh}} {
		var found, labelled, both int
		for _, c := range cases {
			got := Assess(c.tool, c.arguments, project)
			isFound, isLabelled := severity(got.Risk) >= severity(level.from), severity(c.label) >= severity(level.from)
			if isFound {
				found++
			}
			if isLabelled {
				labelled++
			}
			if isFound && isLabelled {
				both++
			}
			if isFound != isLabelled {
				t.Logf("risk:>=%s: rated %q: %s", level.from, got.Risk, c.line)
			}
		}
		precision, recall := 100*both/found, 100*both/labelled
		t.Logf("risk:>=%s finds %d calls, precision %d %%; %d are labelled, recall %d %%", level.from, found, precision, labelled, recall)
		require.GreaterOrEqual(t, precision, level.precision, "precision of risk:>=%s", level.from)
		require.GreaterOrEqual(t, recall, level.recall, "recall of risk:>=%s", level.from)
	}
}
