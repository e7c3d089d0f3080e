package hookrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHookLog_RotatesAtLimit(t *testing.T) {
	t.Parallel()
	hookLog{}.printf("nowhere")
	j := hookLog{filepath.Join(t.TempDir(), "deep", "hook.log")}
	j.printf("two\nlines of %q", "\x1b[31m\xff")
	text, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z two\n\tlines of "\\x1b\[31m\\xff"\n$`, string(text))
	info, err := os.Stat(j.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for range 40 {
		j.printf("%s", strings.Repeat("x", maxHookLog))
	}
	files, err := os.ReadDir(filepath.Dir(j.file))
	require.NoError(t, err)
	require.Len(t, files, 2, "the log and the rotated one")
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(maxHookLog+maxHookLog/8))
	}
}

// Users read the log, with text of agents, in a terminal.
func TestHookLog_ReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	j := hookLog{filepath.Join(home, "hook.log")}
	j.printf("a\x1b[2Jb\r\u202ec\nd é")
	text, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.Contains(t, string(text), "a�[2Jb��c\n\td é\n")
}
