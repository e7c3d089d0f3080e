package transcript

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNamedAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	at := func(file, call string) string {
		if found := NamedAt(t.Context(), path, file, call); !found.IsZero() {
			return found.Format(time.TimeOnly)
		}
		return ""
	}
	require.Empty(t, at("/w/a", "t3"), "no transcript")
	const lines = `{"type":"assistant","timestamp":"2026-11-28T10:00:00Z","message":{"content":[{"type":"tool_use","id":"t1","input":{"file_path":"/w/a"}}]}}
{"type":"user","timestamp":"2026-11-28T10:00:05Z","toolUseResult":{"filePath":"/w/a"}}
{"type":"user","timestamp":"2026-11-28T10:00:06Z","toolUseResult":{"filePath":"/w/ab"}}
{"type":"assistant","timestamp":"2026-11-28T10:09:00Z","message":{"content":[{"type":"tool_use","id":"t3","input":{"file_path":"/w/a"}}]}}
`
	require.NoError(t, os.WriteFile(path, []byte(lines+`{"type":"user","timestamp":"2026-11-28T11:00:00Z","toolUseResult":{"filePath":"/w/a"`), 0o600))
	require.Equal(t, "10:00:05", at("/w/a", "t3"), "without the call, and without a line that is cut")
	require.Equal(t, "10:00:06", at("/w/ab", "t3"))
	require.Empty(t, at("/w/c", "t3"))
	require.Empty(t, at("/w/a", ""), "the call can't be left out")
}
