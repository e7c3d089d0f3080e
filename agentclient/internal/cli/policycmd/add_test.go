package policycmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

const addedRule = `{"tool":"Bash","when":{"command":{"runs":"git push","option":["f","force"]}},"then":"ask"}`

// Every byte of the file before and after the rule stays.
func TestAppendRule_KeepsOtherBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{"{\n  \"rules\": [\n    {\"tool\":\"Read\",\"then\":\"allow\"}\n  ]\n}\n", "{\n  \"rules\": [\n    {\"tool\":\"Read\",\"then\":\"allow\"},\n    " + addedRule + "\n  ]\n}\n"},
		{`{"rules":[]}`, "{\"rules\":[\n    " + addedRule + "\n  ]}"},
		{`{"rules":[ {"tool" : "]", "then":"deny"} ] }`, "{\"rules\":[ {\"tool\" : \"]\", \"then\":\"deny\"},\n    " + addedRule + "\n  ] }"},
		{"\ufeff{\r\n\"rules\": [\r\n]}", "\ufeff{\r\n\"rules\": [\r\n    " + addedRule + "\r\n]}"},
	} {
		file := filepath.Join(t.TempDir(), policy.FileName)
		require.NoError(t, os.WriteFile(file, []byte(c.before), 0o640))
		require.NoError(t, appendRule(file, 0o600, addedRule))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, c.after, string(text))
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.EqualValues(t, 0o640, info.Mode().Perm())
		p, err := policy.Read(file)
		require.NoError(t, err)
		require.Contains(t, p.Rules()[len(p.Rules())-1].Sentence, "git push")
	}
}

func TestAppendRule_CreatesFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hookback", policy.FileName)
	for n := range 2 {
		require.NoError(t, appendRule(file, 0o600, addedRule))
		p, err := policy.Read(file)
		require.NoError(t, err)
		require.Len(t, p.Rules(), n+1)
	}
	list, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, list, 1, "no temporary file is left")
}

// What would not be a valid policy changes nothing.
func TestAppendRule_RefusesInvalid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), policy.FileName)
	for _, c := range []struct{ before, rule, problem string }{
		{`{"rules":[]}`, `rm`, "not a JSON object"},
		{`{"rules":[]}`, `[]`, "not a JSON object"},
		{`{"rules":[]}`, `{"tool":"Bash"}`, "then"},
		{`{"rules":[]}`, `{"tool":"Bash","then":"ask"},{"tool":"*","then":"allow"}`, "not a JSON object"},
		{`{"rules":[`, addedRule, "was not changed"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
		require.ErrorContains(t, appendRule(file, 0o600, c.rule), c.problem)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, c.before, string(text))
	}
}

// A link to a file elsewhere stays a link.
func TestAppendRule_FollowsLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, policy.FileName)
	require.NoError(t, os.WriteFile(target, []byte(`{"rules":[]}`), 0o600))
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no links here")
	}
	require.NoError(t, appendRule(link, 0o600, addedRule))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	p, err := policy.Read(target)
	require.NoError(t, err)
	require.Len(t, p.Rules(), 1)
}
