package hook

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkParse_LargeInput compares the cost of parsing a hook input of a megabyte with
// the time that encoding/json needs to split it.
func BenchmarkParse_LargeInput(b *testing.B) {
	text, err := os.ReadFile("testdata/claude-code-PostToolUse-Bash.json")
	require.NoError(b, err)
	big := []byte(strings.Replace(string(text), `"tool_input": {`, `"tool_input": {"text": "`+strings.Repeat(`0123456789abc de\n`, 1<<16)+`", `, 1))
	b.Run("hook", func(b *testing.B) {
		b.SetBytes(int64(len(big)))
		for b.Loop() {
			in := Input{Stdin: big, Env: func(string) string { return "" }}.Parsed()
			require.Equal(b, "claude-code", Identify("claude-code", in))
			_, err := Agents[0].Agent.Parse(in)
			require.NoError(b, err)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(big)))
		for b.Loop() {
			var o map[string]json.RawMessage
			require.NoError(b, json.Unmarshal(big, &o))
		}
	})
}
