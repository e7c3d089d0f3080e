package shell_test

import (
	"strings"
	"testing"

	"github.com/hookback/hookback/server/internal/risk/shell"
	"github.com/stretchr/testify/require"
)

// parseLines describes the parse result of text: one line per command with its assignments and
// words in brackets, its redirections, its upstream commands and a mark for background commands.
func parseLines(text string, d shell.Dialect) (lines []string, errPos int) {
	words := shell.MaxWords
	commands, errPos := shell.Parse(&shell.Source{Text: text}, d, &words, nil)
	for _, c := range commands {
		var b strings.Builder
		for _, w := range c.Assigns {
			b.WriteString("(" + w.Text + ")")
		}
		for _, w := range c.Words {
			b.WriteString("[" + w.Text + "]")
		}
		for _, r := range c.Redirects {
			b.WriteString(" " + r.Op + r.Target.Text)
		}
		for _, from := range c.Upstream {
			b.WriteString(" of " + from.Words[0].Text)
		}
		if c.Background {
			b.WriteString(" &")
		}
		lines = append(lines, b.String())
	}
	return lines, errPos
}

func TestParse_POSIX(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"  \n\t\n", nil},
		{"# a comment", nil},
		{"ls", []string{"[ls]"}},
		{"ls -l 'a b' \"c d\"", []string{"[ls][-l][a b][c d]"}},
		{`a b\ c 'd'"e"f`, []string{"[a][b c][def]"}},
		{`echo "a\"b\\c\$d\e"`, []string{`[echo][a"b\c$d\e]`}},
		{`echo 'a\'b`, []string{`[echo][a\b]`}},
		{"echo ''", []string{"[echo][]"}},
		{`echo $'a\tb\'c\x41\101\u00e9'`, []string{"[echo][a\tb'cAAé]"}},
		{`echo $"a"`, []string{"[echo][a]"}},
		{"a; b;c\nd", []string{"[a]", "[b]", "[c]", "[d]"}},
		{"a && b || c", []string{"[a]", "[b]", "[c]"}},
		{"a | b |& c", []string{"[a]", "[b] of a", "[c] of b"}},
		{"a & b", []string{"[a] &", "[b]"}},
		{"a \\\n b", []string{"[a][b]"}},
		{"a#b # c", []string{"[a#b]"}},
		{"X=1 Y='2 3' a Z=4", []string{"(X=1)(Y=2 3)[a][Z=4]"}},
		{"X=1", []string{"(X=1)"}},
		{"X+=1; A[2]=3", []string{"(X+=1)", "(A[2]=3)"}},
		{"'X=1' a", []string{"[X=1][a]"}},
		{"a=(b c 'd)') e", []string{"(a=)[e]"}},
		{"a > b 2>&1 < c >> d", []string{"[a] >b <c >>d"}},
		{"a 2> b", []string{"[a] >b"}},
		{"a &> b", []string{"[a] &>b"}},
		{"a >| b", []string{"[a] >b"}},
		{"a >&2", []string{"[a]"}},
		{"a <<< 'b c'", []string{"[a] <<<b c"}},
		{"> a", []string{" >a"}},
		{"2 > a", []string{"[2] >a"}},
		{"cat <<A\nx\ny\nA\nb", []string{"[cat] <<x\ny\n", "[b]"}},
		{"cat <<-A\n\tx\n\tA\nb", []string{"[cat] <<\tx\n", "[b]"}},
		{"cat <<'A' | b\n$(x)\nA", []string{"[cat] <<$(x)\n", "[b] of cat"}},
		{"cat <<A <<B\na\nA\nb\nB\nc", []string{"[cat] <<a\n <<b\n", "[c]"}},
		{"cat <<A\n$(x) `y`\nA", []string{"[cat] <<$(x) `y`\n", "[x]", "[y]"}},
		{"cat <<A\nnever ends", []string{"[cat] <<never ends"}},
		{"a $(b $(c) d) e", []string{"[c]", "[b][$(c)][d]", "[a][$(b $(c) d)][e]"}},
		{"a \"$(b 'c)')\"", []string{"[b][c)]", "[a][$(b 'c)')]"}},
		{"a `b \\`c\\``", []string{"[c]", "[b][]", "[a][]"}},
		{"a <(b) >(c)", []string{"[b]", "[c]", "[a][][]"}},
		{"a $((1 + (2 << 3))) b", []string{"[a][$((1 + (2 << 3)))][b]"}},
		{"((i++)); a", []string{"[a]"}},
		{"a ${b:-c d} \"${e}\"", []string{"[a][${b:-c d}][${e}]"}},
		{"a ${b:-$(c)}", []string{"[c]", "[a][${b:-$(c)}]"}},
		{"a ${b#<x} ${c%>} d", []string{"[a][${b#<x}][${c%>}][d]"}},
		{"a $b$1$@ $", []string{"[a][$b$1$@][$]"}},
		{"(a; b) | c", []string{"[a]", "[b]", "[c] of a of b"}},
		{"a | (b; c)", []string{"[a]", "[b] of a", "[c] of a"}},
		{"{ a; b; }", []string{"[a]", "[b]"}},
		{"if a; then b; elif c; then d; else e; fi", []string{"[a]", "[b]", "[c]", "[d]", "[e]"}},
		{"while a; do b; done", []string{"[a]", "[b]"}},
		{"until ! a; do b; done < c", []string{"[a]", "[b]", " <c"}},
		{"for x in a b; do c; done", []string{"[for][x][in][a][b]", "[c]"}},
		{"case $x in a|b) c ;; (d) e ;; *) f ;; esac; g", []string{"[c]", "[e]", "[f]", "[g]"}},
		{"if a; then case $x in b) c;; esac; fi; d", []string{"[a]", "[c]", "[d]"}},
		{"echo case x in; b", []string{"[echo][case][x][in]", "[b]"}},
		{"f() { a; }; function g { b; }", []string{"[a]", "[{][b]"}},
		{"[[ a < b && (c || d) ]] && e", []string{"[[[]", "[e]"}},
		{"time ! a", []string{"[a]"}},
		{"rm !(a|b) *.@(c|d)", []string{"[rm][!][*.@]"}},
		{"a 'b\nc' d", []string{"[a][b\nc][d]"}},
		{"a\r\nb", []string{"[a]", "[b]"}},
		{"a;;b", []string{"[a]", "[b]"}},
	} {
		got, bad := parseLines(c.text, shell.POSIX)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, -1, bad, c.text)
	}
}

func TestParse_WindowsShells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    shell.Dialect
		text string
		want []string
	}{
		{shell.PowerShell, "a `\"b`\" 'c d'", []string{"[a][\"b\"][c d]"}},
		{shell.PowerShell, `a C:\b\c`, []string{`[a][C:\b\c]`}},
		{shell.PowerShell, "ls | % { rm $_ }", []string{"[ls]", "[%] of ls", "[rm][$_]"}},
		{shell.PowerShell, "a \"$(b)\"", []string{"[b]", "[a][$(b)]"}},
		{shell.WindowsCmd, `del /s C:\x & rd y`, []string{`[del][/s][C:\x]`, "[rd][y]"}},
		{shell.WindowsCmd, "echo it's ^& fine", []string{"[echo][it's][&][fine]"}},
	} {
		got, bad := parseLines(c.text, c.d)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, -1, bad, c.text)
	}
}

// TestParse_UnreadableText checks that a syntax error is located and keeps the commands before it.
func TestParse_UnreadableText(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]int{
		"a; b 'c":    5,
		"a; b \"c":   5,
		"a; b $(c":   6,
		"a; b `c":    5,
		"a; b ${c":   5,
		"a; b $'c":   5,
		"a; (b":      3,
		"a; b)":      4,
		"a; b >":     5,
		"a; b > ; c": 5,
		"a; b=(c":    5,
	} {
		got, at := parseLines(text, shell.POSIX)
		require.Equal(t, "[a]", got[0], text)
		require.GreaterOrEqual(t, at, 0, text)
		if at != bad {
			t.Errorf("%q: error position %d, want %d", text, at, bad)
		}
	}
}

func TestParse_LimitsNesting(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"$(", "(", "\"$(", "${a:-", "<(", "!("} {
		_, bad := parseLines("a "+strings.Repeat(open, shell.MaxNesting*4), shell.POSIX)
		require.GreaterOrEqual(t, bad, 0, open)
	}
	_, bad := parseLines(strings.Repeat("(", shell.MaxNesting-2)+"a"+strings.Repeat(")", shell.MaxNesting-2), shell.POSIX)
	require.Equal(t, -1, bad)
}
