package usage_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
)

// write writes a file of lines below dir and returns its path.
func write(t *testing.T, dir, name string, lines ...string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

func TestOfSession_ReadsAllFilesOfTheSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := message("a", "1", "opus 1 10")
	copied := strings.NewReplacer(`"sessionId":"a"`, `"requestSessionId":"a","sessionId":"b"`).Replace(one)
	write(t, dir, "-src-a/a.jsonl", one, total("a", start, "opus 10 0.5"))
	path := write(t, dir, "-src-b/b.jsonl", copied, message("b", "2", "opus 2 20"), message("c", "3", "opus 3 1000"),
		strings.Replace(message("b", "8", "opus 3 5"), `{`, `{"requestSessionId":"../../../b",`, 1), total("b", start, "opus 35 2", "haiku 300 0.25"), message("b", "9", "opus 9 1"))
	write(t, dir, "-src-b/b/subagents/agent-1.jsonl", message("b", "4", "haiku 4 100"))
	write(t, dir, "-src-b/b/subagents/workflows/wf_1/agent-2.jsonl", message("b", "5", "haiku 5 200"))
	write(t, dir, "-src-b/other.jsonl", message("other", "6", "opus 6 4000"))
	got, err := usage.OfSession(t.Context(), path, "b")
	require.NoError(t, err)
	require.Equal(t, []schema.ModelUsage{
		{Model: "haiku", Tokens: schema.Tokens{Input: 300}, CostUSD: 0.25}, {Model: "opus", Tokens: schema.Tokens{Input: 26}, CostUSD: 1.5},
	}, got)
}

func TestOfSession_Errors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := usage.OfSession(t.Context(), "", "a")
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = usage.OfSession(t.Context(), filepath.Join(dir, "none.jsonl"), "a")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = usage.OfSession(t.Context(), dir, "a")
	require.ErrorContains(t, err, "is not a file")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = usage.OfSession(canceled, write(t, dir, "a.jsonl", message("a", "1", "opus 1 10")), "a")
	require.ErrorIs(t, err, context.Canceled)
}

func TestPrevious_IsTheNewestOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, name := range []string{"b.jsonl", "c.jsonl", "a.jsonl", "d.txt"} {
		require.NoError(t, os.Chtimes(write(t, dir, name), time.Unix(int64(i), 0), time.Unix(int64(i), 0)))
	}
	require.Equal(t, filepath.Join(dir, "c.jsonl"), usage.Previous(filepath.Join(dir, "a.jsonl")))
	require.Equal(t, filepath.Join(dir, "a.jsonl"), usage.Previous(filepath.Join(dir, "new.jsonl")))
	require.Empty(t, usage.Previous(""))
	require.Empty(t, usage.Previous(filepath.Join(dir, "none", "a.jsonl")))
}
