package app

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table in configuration.md equals -help, in the same order. If the test fails, copy the
// table that it prints into server/docs/guide/configuration.md.
func TestFlags_AreDocumented(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| Flag | Default | What it does |\n|---|---|---|\n")
	for _, spec := range flagsOf(new(Config)) {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", strings.TrimSpace("-"+spec.name+" "+spec.placeholder), spec.defaultText, spec.usage)
	}
	doc, err := os.ReadFile("../../docs/guide/configuration.md")
	require.NoError(t, err)
	if !strings.Contains(string(doc), table.String()) {
		t.Fatalf("the table of flags in server/docs/guide/configuration.md differs from -help; it must be:\n\n%s", table.String())
	}
}

// The hub's copy of the calls that only read is current.
func TestSubcommands_RiskKnowsWhichRead(t *testing.T) {
	t.Parallel()
	list := "# Commands of hookback-server and their calls that only read, from its table of commands.\n"
	for _, c := range subcommands {
		list += c.name + ":" + map[bool]string{true: " ."}[c.reads] + "\n"
	}
	got, err := os.ReadFile("../risk/oversight/hookback-server.txt")
	require.NoError(t, err)
	require.Equal(t, list, string(got), "write the first text to the file if it is right")
}
