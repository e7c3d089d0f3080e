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
	for _, spec := range flagSpecs {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", strings.TrimSpace("-"+spec.name+" "+spec.placeholder), spec.defaultText, spec.usage)
	}
	doc, err := os.ReadFile("../../docs/guide/configuration.md")
	require.NoError(t, err)
	if !strings.Contains(string(doc), table.String()) {
		t.Fatalf("the table of flags in server/docs/guide/configuration.md differs from -help; it must be:\n\n%s", table.String())
	}
}
