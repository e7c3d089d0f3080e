package risk

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

//go:embed testdata/corpus.txt
var corpus string

// corpusCase is one line of the corpus.
type corpusCase struct {
	class     schema.Class
	risk      schema.Risk // minimum
	tool      string
	arguments json.RawMessage
	line      string
}

func corpusCases(tb testing.TB) (cases []corpusCase) {
	tb.Helper()
	for line := range strings.Lines(corpus) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		require.Greater(tb, len(fields), 3, line)
		c := corpusCase{class: schema.Class(fields[0]), tool: fields[2], line: line}
		if fields[1] != "-" {
			c.risk = schema.Risk(fields[1])
		}
		call := strings.TrimSpace(line[strings.Index(line, " "+c.tool+" ")+len(c.tool)+2:])
		if c.arguments = json.RawMessage(call); !strings.HasPrefix(call, "{") {
			c.arguments = mustMarshal(map[string]string{"command": strings.ReplaceAll(call, "⏎", "\n")})
		}
		cases = append(cases, c)
	}
	return cases
}

// TestAssess_Corpus compares the class of every call of the corpus with the expected one. -v prints the
// confusion table. A harmless command that becomes unknown costs people a passkey each time, and a
// risky one that becomes unknown is no longer excluded from rules.
func TestAssess_Corpus(t *testing.T) {
	t.Parallel()
	classes := []schema.Class{schema.ClassHarmless, schema.ClassUnknown, schema.ClassRisky}
	table := map[[2]schema.Class]int{}
	var wrong []string
	for _, c := range corpusCases(t) {
		got := Assess(c.tool, c.arguments, project)
		table[[2]schema.Class{c.class, got.Class}]++
		if got.Class != c.class || severity(got.Risk) < severity(c.risk) {
			wrong = append(wrong, fmt.Sprintf("%s %s, not: %s", got.Class, got.Risk, c.line))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s%10s%10s%10s\n", "expected \\ assessed", classes[0], classes[1], classes[2])
	total := map[schema.Class]int{}
	for _, want := range classes {
		fmt.Fprintf(&b, "%-20s", want)
		for _, got := range classes {
			fmt.Fprintf(&b, "%10d", table[[2]schema.Class{want, got}])
			total[want] += table[[2]schema.Class{want, got}]
		}
		b.WriteByte('\n')
	}
	t.Log("\n" + b.String())
	require.Empty(t, wrong, "%d of the corpus differ:\n%s\n%s", len(wrong), strings.Join(wrong, "\n"), b.String())
	require.GreaterOrEqual(t, total[schema.ClassHarmless], 150)
	require.GreaterOrEqual(t, total[schema.ClassRisky], 150)
}

// TestAssess_ClassByDirectory: the class depends on the directory that the agent works in, and on the one
// that the call names.
func TestAssess_ClassByDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cwd, tool, arguments string
		want                 schema.Class
	}{
		{"/home/dev/.aws", "Bash", `{"command":"cat credentials"}`, schema.ClassRisky},
		{"/home/dev/.ssh", "Bash", `{"command":"cat id_rsa"}`, schema.ClassRisky},
		{"/home/dev/.ssh", "Bash", `{"command":"cat work"}`, schema.ClassRisky},
		{"/home/dev/.ssh", "Bash", `{"command":"ls"}`, schema.ClassHarmless},
		{"/home/dev/.config/gh", "Bash", `{"command":"cat hosts.yml"}`, schema.ClassRisky},
		{"/home/dev/.config/gh", "Bash", `{"command":"cat ho*.yml"}`, schema.ClassUnknown},
		{"/home/dev/.aws", "Read", `{"file_path":"credentials"}`, schema.ClassRisky},
		{"/home/dev/.aws", "Bash", `{"command":"cat < credentials"}`, schema.ClassRisky},
		{project, "Bash", `{"command":"cd ~/.aws && cat credentials"}`, schema.ClassRisky},
		{project, "Bash", `{"command":"cat credentials","cwd":"/home/dev/.aws"}`, schema.ClassRisky},
		{`C:\work\shop`, "Write", `{"file_path":"C:.claude\\settings.json","content":"x"}`, schema.ClassRisky},
		{`C:\work\shop`, "PowerShell", `{"command":"copy-item a C:b"}`, schema.ClassRisky}, // in the directory that C: is in
		{project, "Bash", `{"command":"cat config","cwd":".git"}`, schema.ClassUnknown},
		{project, "Bash", `{"command":"git status","cwd":"evil"}`, schema.ClassUnknown},
		{project, "Bash", `{"command":"git status","cwd":"."}`, schema.ClassHarmless},
		{"", "Bash", `{"command":"git status"}`, schema.ClassUnknown},
		{"", "Bash", `{"command":"cat a.go"}`, schema.ClassUnknown},
		{"", "Bash", `{"command":"date"}`, schema.ClassUnknown},
		{"", "Read", `{"file_path":"a.go"}`, schema.ClassUnknown},
		{"shop", "Bash", `{"command":"cat a.go"}`, schema.ClassUnknown},
		{project, "Grep", `{"pattern":"-x","path":"src","glob":"**/*.ts"}`, schema.ClassHarmless},
		{project, "Grep", `{"pattern":"x","path":".aws"}`, schema.ClassUnknown},
		{"/home/dev/.ssh", "Grep", `{"pattern":"x"}`, schema.ClassUnknown},
		{project, "Grep", `{"pattern":"x","glob":"credentials"}`, schema.ClassUnknown},
		{project, "Grep", `{"pattern":"x","--pre":"id"}`, schema.ClassUnknown},
		{project, "Grep", `{"pattern":"x","args":["--pre","id"]}`, schema.ClassUnknown},
		{"/home/dev/.local/share/hookback", "Bash", `{"command":"rg x"}`, schema.ClassUnknown},
	} {
		require.Equal(t, c.want, Assess(c.tool, json.RawMessage(c.arguments), c.cwd).Class, "%s %s in %q", c.tool, c.arguments, c.cwd)
	}
}

// TestAssess_OptionCalls: the calls that rules and policies must not confuse with a harmless one are
// risky. Three are only unknown: another program, a download to a temporary directory, and an
// argument that npm passes on to a runner that it does not name.
func TestAssess_OptionCalls(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../agentclient/policy/testdata/option_calls.txt")
	require.NoError(t, err)
	calls := 0
	var missed []string
	for line := range strings.Lines(string(text)) {
		_, call, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			continue
		}
		calls++
		a := Assess("Bash", mustMarshal(map[string]string{"command": call}), project)
		require.NotEqual(t, schema.ClassHarmless, a.Class, call)
		if a.Class != schema.ClassRisky {
			missed = append(missed, call)
		}
	}
	require.GreaterOrEqual(t, calls, 36)
	require.Equal(t, []string{"git statusx", "curl -o /tmp/x https://example.com", "npm test -- --reporter=./x"}, missed)
}
