package codeowners_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/codeowners"
)

// The example of GitHub's documentation.
const example = `# This is a comment.
*       @global-owner1 @global-owner2

*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/github
with\ space/ @ada
a/**/z @lin
`

func TestFile_LastMatchCounts(t *testing.T) {
	t.Parallel()
	f, err := codeowners.Parse([]byte(example))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"README": "@global-owner1 @global-owner2", "src/x.js": "@js-owner", "a.go": "docs@example.com", "x/y.txt": "@octo-org/octocats",
		"build/logs/a/b.go": "@octocat", "build/log.go": "docs@example.com", "x/apps/a.go": "@octocat", "apps": "@global-owner1 @global-owner2",
		"docs/a/b.go": "@doctocat", "scripts/x": "@doctocat @octocat", "deep/er/logs/x": "@octocat",
		"apps/github/x.go": "", "apps/github": "", "with space/x": "@ada", "a/z": "@lin", "a/b/c/z/x": "@lin",
	} {
		require.Equal(t, want, strings.Join(f.Owners(name), " "), name)
	}
	f, err = codeowners.Parse([]byte("docs/* @a\n/x* @b\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"@a"}, f.Owners("docs/a.md"))
	require.Empty(t, f.Owners("docs/deep/a.md"))
	require.Equal(t, []string{"@b"}, f.Owners("xy/a"))
	require.Empty(t, f.Owners("y/xy"))
}

func TestFile_BelowFindsRulesAboutParts(t *testing.T) {
	t.Parallel()
	f, err := codeowners.Parse([]byte("* @all\n/pay/api/ @lin\n/pay/web/ @ada\n/ship/ @bob\n/pay/none/\n"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"@lin"}, {"@ada"}}, f.Below("pay"))
	require.Len(t, f.Below("."), 4)
	require.Empty(t, f.Below("pay/api"))
}

func TestParse_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"* @a\n!x @b":      "line 2",
		"[a-z] @a":         "line 1",
		"[Section]\n* @a":  "line 1",
		"* ada":            `"ada" is no owner`,
		"* @":              "is no owner",
		"\\#x @a":          "no pattern",
		`a\b @a`:           "backslash",
		"* \xff":           "not UTF-8",
		"x @a\n\n* lin@\n": "line 3",
	} {
		_, err := codeowners.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	full := strings.Repeat("/some/path/of/a/file.go @some-owner\n", codeowners.MaxBytes/37)
	f, err := codeowners.Parse([]byte(full))
	require.NoError(t, err)
	require.Equal(t, []string{"@some-owner"}, f.Owners("some/path/of/a/file.go"))
	_, err = codeowners.Parse([]byte(strings.Repeat(full, 2)))
	require.ErrorContains(t, err, "larger than 3 MB")
}

func FuzzParse(f *testing.F) {
	f.Add(example, "docs/x")
	f.Fuzz(func(t *testing.T, text, name string) {
		if parsed, err := codeowners.Parse([]byte(text)); err == nil {
			_ = parsed.Owners(name)
			_ = parsed.Below(name)
		}
	})
}
