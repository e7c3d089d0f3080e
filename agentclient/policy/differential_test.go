package policy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew; every changed line is a changed decision")

// readJSONLines decodes one value per line.
func readJSONLines[T any](t testing.TB, file string) (list []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var value T
		require.NoError(t, json.Unmarshal([]byte(line), &value), line)
		list = append(list, value)
	}
	return list
}

// TestPolicyFile_DecidesAsBefore compares the decisions of policy files of every form with those of
// the code before there was one policy language. Line n of the golden file is for policy n: its
// problems, or its sentences and the decision about each call.
func TestPolicyFile_DecidesAsBefore(t *testing.T) {
	t.Parallel()
	const dir = "testdata/differential/"
	calls := readJSONLines[struct{ Name, Alias, Command, Arguments string }](t, dir+"calls.jsonl")
	var lines []string
	for _, text := range readJSONLines[string](t, dir+"policies.jsonl") {
		f, err := policy.Parse("p", []byte(text))
		if err != nil {
			lines = append(lines, fmt.Sprintf("%q", err.Error()))
			continue
		}
		var notes, decisions []string
		for _, r := range f.Rules() {
			notes = append(notes, r.Sentence)
		}
		for _, w := range f.Warnings() {
			notes = append(notes, w.String())
		}
		for _, c := range calls {
			r := f.Evaluate(policy.Call{Name: c.Name, Alias: c.Alias, Command: c.Command, Arguments: []byte(c.Arguments)})
			decision := fmt.Sprintf("%.2s%s", r.Effect, strings.TrimPrefix(r.Location, "p"))
			if strings.Contains(r.Reason, "could not be evaluated") {
				decision += "?"
				if !slices.Contains(notes, r.Reason) {
					notes = append(notes, r.Reason)
				}
			}
			decisions = append(decisions, decision)
		}
		lines = append(lines, fmt.Sprintf("%q %s", notes, runLengths(decisions)))
	}
	compareGolden(t, dir+"golden.txt", lines)
}

// runLengths joins words, with a count before repeated ones.
func runLengths(words []string) string {
	var b strings.Builder
	for i := 0; i < len(words); {
		n := 1
		for i+n < len(words) && words[i+n] == words[i] {
			n++
		}
		fmt.Fprintf(&b, " %d×%s", n, words[i])
		i += n
	}
	return b.String()
}

func compareGolden(t *testing.T, file string, lines []string) {
	t.Helper()
	if *updateGolden {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Len(t, lines, len(want))
	for i := range want {
		require.Equal(t, want[i], lines[i], "line %d", i+1)
	}
}
