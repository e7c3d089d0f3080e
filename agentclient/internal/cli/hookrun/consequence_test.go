package hookrun

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
)

// The transcript shows when the agent read a file that it overwrites.
func TestConsequence_NotesChangeSinceTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "a"), filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(file, []byte("new\n"), 0o600))
	h := &hookRun{env: clitest.NoEnv, workDir: dir, transcriptTimeout: time.Minute}
	arguments, err := json.Marshal(map[string]string{"file_path": file, "content": "x"})
	require.NoError(t, err)
	payload, err := json.Marshal(map[string]string{"transcript_path": log})
	require.NoError(t, err)
	sentences := func(read time.Time) []string {
		line := fmt.Sprintf(`{"timestamp":%q,"toolUseResult":{"filePath":%q}}`+"\n", read.Format(time.RFC3339), file)
		require.NoError(t, os.WriteFile(log, []byte(line), 0o600))
		c := &hook.Call{Event: schema.Event{Agent: "claude-code", ToolUseID: "toolu_of_this_call", Payload: payload}, Alias: "Write", Tool: &schema.ToolCall{Name: "Write", Arguments: arguments}}
		return h.consequence(c).Sentences
	}
	const changed = `"a" changed since the agent read it.`
	require.Contains(t, sentences(time.Now().Add(-time.Hour)), changed)
	require.NotContains(t, sentences(time.Now().Add(time.Hour)), changed)
}
