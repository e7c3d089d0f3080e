package call

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// stubs are the programs that the lines run.
var stubs = []string{"rm", "git", "curl", "p1", "p2", "npm", "cat", "env", "sudo", "xargs", "find", "ssh"}

// grammar generates command lines. It writes to its directory only, and every loop ends.
type grammar struct {
	*rand.Rand
	size int // how much may still be added
}

func (g *grammar) pick(all ...string) string { return all[g.IntN(len(all))] }

func (g *grammar) list() string {
	g.size--
	var b strings.Builder
	b.WriteString(g.command())
	for g.size > 0 && g.IntN(3) == 0 {
		b.WriteString(g.pick(";", " ; ", "&&", " || ", "|", " | ", "\n", " & ", "|&") + g.command())
	}
	return b.String()
}

func (g *grammar) command() string {
	g.size--
	if g.size <= 0 {
		return g.pick(stubs...)
	}
	switch g.IntN(36) {
	case 0:
		return "(" + g.list() + ")"
	case 1:
		return "{ " + g.list() + "\n}"
	case 2:
		return "if " + g.list() + "\nthen " + g.list() + "\nelse " + g.list() + "\nfi"
	case 3:
		return "for x in " + g.word() + " " + g.word() + "\ndo " + g.list() + "\ndone"
	case 4:
		return "while " + g.list() + "\nfalse\ndo " + g.list() + "\ndone"
	case 5:
		return "case " + g.word() + " in " + g.pick("a", "*", "'x y'|b") + ") " + g.list() + "\n;; esac"
	case 6:
		f := "f" + strconv.Itoa(g.size) // a name of its own: a function that calls itself would never end
		return g.pick(f+"() { ", "function "+f+" { ") + g.list() + "\n}\n" + f
	case 7:
		return g.pick("! ", "time ", "time -p ", "command ", "exec ", "builtin eval ", "x=1 y='2 3' ") + g.simple()
	case 8:
		return g.pick("[[ a = b ]] ", "[ -n x ] ", "(( 1 + 1 )) ", "true ", ": ") + g.pick("&& ", "|| ") + g.command()
	case 9:
		return "eval " + quoteText(g.list(), g.IntN(2) == 0)
	case 10:
		return g.pick("bash -c ", "bash -uc ", "bash -e -c ") + quoteText(g.list(), g.IntN(2) == 0)
	case 11:
		return "trap " + quoteText(g.list(), true) + " EXIT"
	case 12:
		return g.pick("bash", "cat", "p1") + " <<" + g.pick("'EOF'", "EOF", "\"EOF\"") + "\n" + g.text() + "\n" + g.list() + "\nEOF\n"
	case 13:
		return g.pick("echo ", "printf ") + quoteText(g.list(), g.IntN(2) == 0) + " | bash"
	case 14:
		return "bash <<<" + quoteText(g.list(), g.IntN(2) == 0)
	case 15:
		return g.pick("export ", "declare ", "readonly ", "") + g.pick("x=", "y=") + g.word()
	case 16:
		return g.simple() + g.pick(" > out", " 2>&1", " >> out 2>err", " < in", " &> out", " <<< "+g.word(), " # "+g.text()+"\n")
	case 17:
		return "coproc " + g.simple()
	case 18:
		file := "s" + strconv.Itoa(g.size)
		return g.pick("echo ", "printf '%s\\n' ") + quoteText(g.list(), g.IntN(2) == 0) + g.pick(" > ", " >> ") + file + "\n" +
			g.pick("bash ", "bash -e ", "source ./", ". ./", "bash < ", "bash -c 'bash '") + file
	case 19:
		v := "v" + strconv.Itoa(g.size)
		switch g.IntN(3) {
		case 0:
			first := v + "=" + g.pick("a", g.word()) + g.pick("\n", " && ", "\n"+g.command()+"\n")
			return first + v + "=" + g.pick(stubs...) + "\n$" + v + " " + g.word()
		case 1:
			first := g.pick("", g.command()+" && ") + v + "=" + g.pick(stubs...)
			return first + g.pick("\n", " && ", " || ", " ; "+g.command()+"\n") + "$" + v + " " + g.word()
		default:
			return "for " + v + " in " + g.pick(stubs...) + " " + g.pick("", "a", "p2", g.word()) + "\ndo $" + v + " x\n" + g.command() + "\ndone"
		}
	default:
		return g.simple()
	}
}

func (g *grammar) simple() string {
	words := []string{g.program()}
	for range g.IntN(3) {
		words = append(words, g.word())
	}
	return strings.Join(words, " ")
}

// program is the name of a stub, written in one of many ways.
func (g *grammar) program() string {
	p := g.pick(stubs...)
	switch g.IntN(36) {
	case 0:
		return p[:1] + "'" + p[1:] + "'"
	case 1:
		return `"` + p + `"`
	case 2:
		return `\` + p
	case 3:
		return "$'" + p + "'"
	case 4:
		return `$'\x` + strconv.FormatInt(int64(p[0]), 16) + p[1:] + "'"
	case 5:
		return "{" + p + "," + g.pick("a", "b") + "}"
	case 6:
		return p[:1] + "${none}" + p[1:]
	case 7:
		return "${none:-" + p + "}"
	case 8:
		return "$(echo " + p + ")"
	case 9:
		return p[:1] + "\\\n" + p[1:]
	case 10:
		return p[:1] + `""` + p[1:]
	default:
		return p
	}
}

func (g *grammar) text() string {
	return g.pick("it's", "a 'b", "rm -rf x", "say \"hi", "a (b", "tick ` tick `", "$none", "plain", "# no", "x; rm y", `back \ slash`)
}

func (g *grammar) word() string {
	g.size--
	if g.size <= 0 {
		return g.pick("a", "b", "-rf", "--x=y")
	}
	switch g.IntN(18) {
	case 0:
		return "'" + strings.ReplaceAll(g.text(), "'", "") + "'"
	case 1:
		return `"$(` + g.list() + "\n)\""
	case 2:
		return "$(" + g.list() + "\n)"
	case 3:
		return "`" + g.pick(stubs...) + "`"
	case 4:
		return "<(" + g.list() + "\n)"
	case 5:
		return "${none:-" + g.word() + "}"
	case 6:
		return "$((1+1))"
	case 7:
		return `\'`
	case 8:
		return "{a,$(" + g.list() + "\n)}"
	case 9:
		return `"${none:-` + "$(" + g.list() + "\n)}\""
	case 10:
		return "$'it\\'s'"
	case 11:
		return "a#b"
	case 12:
		return "${x/a/$(" + g.list() + "\n)}"
	case 13:
		return "$((a[$(" + g.list() + "\n)]))"
	default:
		return g.pick("a", "-rf", "x=y", "*.none", "\"a b\"", "$none", "~")
	}
}

func quoteText(text string, single bool) string {
	if single {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
}

// oracle is a directory for lines, and a PATH with bash and the stubs, which write their names to
// file descriptor 3.
type oracle struct{ bash, bin string }

func newOracle(t testing.TB) *oracle {
	t.Helper()
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	o := &oracle{bash, t.TempDir()}
	for _, name := range stubs {
		require.NoError(t, os.WriteFile(filepath.Join(o.bin, name), []byte("#!/bin/sh\necho \"${0##*/}\" >&3\n"), 0o755)) //nolint:gosec // a program
	}
	require.NoError(t, os.Symlink(bash, filepath.Join(o.bin, "bash")))
	return o
}

// run returns the stubs that bash started for a line.
func (o *oracle) run(t testing.TB, dir, text string) []string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd := exec.Command(o.bash, "--norc", "--noprofile", "-c", text) //nolint:gosec // the generated line
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, []string{"PATH=" + o.bin, "HOME=" + dir}, []*os.File{w}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r) // until every process has ended
	require.NoError(t, err)
	_ = cmd.Wait() // its status says nothing
	return strings.Fields(string(out))
}

// TestRead_KnowsWhatBashRuns: each program that a real bash starts is in the reading, or the line is
// unread. ORACLE_LINES is the number of lines.
func TestRead_KnowsWhatBashRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no bash")
	}
	lines := 2000
	if n, err := strconv.Atoi(os.Getenv("ORACLE_LINES")); err == nil {
		lines = n
	}
	o := newOracle(t)
	var read, unread, extra atomic.Int64
	const workers = 4
	for worker := range uint64(workers) {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := range uint64(lines / workers) {
				seed := i*workers + worker
				g := &grammar{rand.New(rand.NewPCG(seed, 2026)), 14} //nolint:gosec // the same lines in each run
				text := g.list()
				c := readLine(text)
				if len(c.Unread) > 0 {
					unread.Add(1)
					continue
				}
				read.Add(1)
				known := names(c)
				started := o.run(t, dir, text)
				scripts, _ := filepath.Glob(filepath.Join(dir, "s[0-9]*"))
				for _, file := range scripts {
					require.NoError(t, os.Remove(file))
				}
				for _, name := range started {
					require.Contains(t, known, name, "line %d: %s\nread as %v", seed, text, known)
				}
				for _, name := range known {
					if slices.Contains(stubs, name) && !slices.Contains(started, name) {
						extra.Add(1)
					}
				}
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d lines read, %d unread; %d programs read that bash did not start", read.Load(), unread.Load(), extra.Load())
		require.Greater(t, read.Load(), int64(lines/2), "most lines can be read")
	})
}

func readLine(text string) *Call {
	c := &Call{}
	c.readCommand(text, Span{To: len(text)}, POSIX, nil)
	return c
}

func names(c *Call) (all []string) {
	for _, cmd := range c.Commands {
		if len(cmd.Words) > 0 {
			all = append(all, programs.ProgramName(cmd.Words[0].Text, false))
		}
	}
	return all
}
