package rules_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/rules"
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

// recordedCall is a call of the corpus. Its arguments are text, because they may not be JSON.
type recordedCall struct {
	rules.Call
	Arguments string
}

func (c recordedCall) call() *rules.Call {
	call := c.Call
	call.Arguments = json.RawMessage(c.Arguments)
	return &call
}

// TestDecide_DecidesAsBefore compares the decisions of stored rules of every form with those of the
// code before there was one policy language. Line n of the golden file is for rule n: whether it
// allows or denies each call, or, for a deny, whether it leaves the call to a person (?).
func TestDecide_DecidesAsBefore(t *testing.T) {
	t.Parallel()
	const dir = "testdata/differential/"
	var calls []*rules.Call // which are read once for all rules
	for _, c := range readJSONLines[recordedCall](t, dir+"calls.jsonl") {
		calls = append(calls, c.call())
	}
	var lines []string
	for _, r := range readJSONLines[schema.Rule](t, dir+"rules.jsonl") {
		r.ID = 1
		set, err := rules.NewSet([]rules.StoredRule{{Rule: r}})
		decisions := []string{fmt.Sprint(err)}
		for _, call := range calls {
			class := call.Class
			decision := "-"
			if got := set.Decide(call, now); got != nil {
				decision = got.Then
			} else if r.Then == schema.ThenDeny && rules.IneligibleReason(call) == "" {
				// An allow rule for every harmless call shows whether the deny is indeterminate.
				call.Class = schema.ClassHarmless
				everything := rules.StoredRule{Rule: schema.Rule{ID: 2, Then: schema.ThenAllow, Tool: call.Tool}}
				alone, err := rules.NewSet([]rules.StoredRule{everything})
				require.NoError(t, err)
				both, _ := rules.NewSet([]rules.StoredRule{everything, {Rule: r}})
				if alone.Decide(call, now) != nil && both.Decide(call, now) == nil {
					decision = "?"
				}
				call.Class = class
			}
			decisions = append(decisions, decision)
		}
		lines = append(lines, rules.Sentence(&r, nil)+" "+runLengths(decisions))
	}
	compareGolden(t, dir+"golden_decisions.txt", lines)
}

// TestCompile_CompilesAsBefore compares the outcome of making rules: a hash of all sentences and commands,
// and the reasons why a rule can't be made.
func TestCompile_CompilesAsBefore(t *testing.T) {
	t.Parallel()
	const dir = "testdata/differential/"
	var calls []*rules.Call
	var outcomes, lines []string
	for _, c := range readJSONLines[recordedCall](t, dir+"calls.jsonl") {
		calls = append(calls, c.call())
		lines = append(lines, fmt.Sprintf("scope of %s %s: %q", c.Tool, c.Arguments, rules.ExactScope(calls[len(calls)-1])))
	}
	for _, d := range readJSONLines[schema.RuleDraft](t, dir+"drafts.jsonl") {
		var found []string
		texts := fnv.New64a()
		for i := 0; i < len(calls); i += 3 {
			r, err := rules.Compile(&d, calls[i], "ada", now)
			outcome := fmt.Sprint(err)
			if refused := rules.IneligibleError(""); r != nil && (err == nil || errors.As(err, &refused)) {
				_, _ = fmt.Fprintf(texts, "%s %q\n", r.Text, r.Command)
			}
			at := slices.Index(outcomes, outcome)
			if at < 0 {
				at = len(outcomes)
				outcomes = append(outcomes, outcome)
			}
			found = append(found, fmt.Sprint(at))
		}
		lines = append(lines, fmt.Sprintf("%016x %s", texts.Sum64(), runLengths(found)))
	}
	compareGolden(t, dir+"golden_drafts.txt", slices.Concat(outcomes, lines))
}

// runLengths joins words, with a count before those that repeat.
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
