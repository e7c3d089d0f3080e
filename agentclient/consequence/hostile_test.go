package consequence_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/consequence"
)

// childVariable makes the test program compute the consequences of the calls in its arguments, and nothing else.
const childVariable = "CONSEQUENCE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		for _, command := range hostileCalls {
			_, _ = os.Stdout.WriteString(show(of(dir, command), dir) + "\n")
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// hostileCalls reach each reader: the tree, the index, objects, refs, the stash and the configuration.
var hostileCalls = []string{
	"rm -rf src", "git clean -fdx", "git reset --hard", "git checkout -- .", "git stash drop", "git push --force origin main",
	"git push origin --delete main", "git branch -D other", "find . -name '*.c' -delete", "chmod -R 700 .", "git -C sub reset --hard",
}

// hostile are scripts that make a prepared repository hostile. $TRAP is a program that writes a mark.
var hostile = map[string]string{
	"hooks":                     `for h in post-index-change post-checkout pre-push reference-transaction fsmonitor-watchman; do cp $TRAP .git/hooks/$h; done`,
	"hooks elsewhere":           `mkdir h; cp $TRAP h/post-index-change; git config core.hooksPath h`,
	"fsmonitor":                 `git config core.fsmonitor $TRAP`,
	"filters":                   `echo '* filter=x diff=x merge=x' > .gitattributes; for k in clean smudge process; do git config filter.x.$k $TRAP; done; touch src/*`,
	"text conversion":           `echo '* diff=x' > .gitattributes; git config diff.x.textconv $TRAP; git config diff.x.command $TRAP; git config diff.external $TRAP`,
	"aliases":                   `for a in reset clean checkout stash push branch; do git config alias.$a "!$TRAP"; done`,
	"pager and editor":          `for k in core.pager core.editor core.askPass core.sshCommand gpg.program sequence.editor; do git config $k $TRAP; done`,
	"credential helper":         `git config credential.helper "!$TRAP"; git config remote.origin.url "ext::$TRAP"; git config core.gitProxy $TRAP`,
	"alternates":                `echo /dev/zero > .git/objects/info/alternates; rm -rf .git/objects/??`,
	"an alternate pipe":         `mkfifo p; echo "$PWD/p" > .git/objects/info/alternates; rm -rf .git/objects/??`,
	"pipes for files":           `rm .git/index .git/HEAD .git/config; mkfifo .git/index .git/HEAD .git/config`,
	"pipes for objects":         `rm -rf .git/objects/??; o=$(cat .git/refs/heads/main); d=.git/objects/$(echo $o | cut -c1-2); mkdir $d; mkfifo $d/$(echo $o | cut -c3-)`,
	"pipes in the tree":         `rm src/a.c; mkfifo src/a.c src/new.c .gitignore; ln -s src/new.c l.c`,
	"a .git that is a link":     `mv .git ../real; ln -s ../real .git`,
	"a .git that names another": `mv .git ../other/g; echo "gitdir: $PWD/../other/g" > .git`,
	"a .git that names a pipe":  `mkfifo p; rm -rf .git; echo "gitdir: p" > .git`,
	"links out of .git":         `rm -rf .git/objects .git/refs .git/index; ln -s /proc/self .git/objects; ln -s / .git/refs; ln -s /dev/zero .git/index`,
	"a link loop":               `ln -s loop src/loop; ln -s .. src/up; ln -s . src/here`,
	"symbolic refs in a circle": `echo 'ref: refs/heads/b' > .git/HEAD; echo 'ref: refs/heads/a' > .git/refs/heads/b; echo 'ref: refs/heads/b' > .git/refs/heads/a; cp .git/HEAD .git/refs/heads/main`,
	"a huge index":              `printf 'DIRC\0\0\0\002\377\377\377\377' > .git/index; truncate -s 60M .git/index`,
	"a sparse giant index":      `truncate -s 100G .git/index`,
	"a bomb of zeros":           `o=$(git rev-parse HEAD); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); chmod u+w $f; { printf 'commit 999999999\0'; head -c 300000000 /dev/zero; } | python3 -c 'import sys,zlib; c=zlib.compressobj(9); sys.stdout.buffer.write(b"".join(c.compress(b) for b in iter(lambda: sys.stdin.buffer.read(1<<20), b""))+c.flush())' > $f`,
	"damaged packs":             `git gc -q; for p in .git/objects/pack/*.pack .git/objects/pack/*.idx; do chmod u+w $p; printf '\377\377\377\377\377\377\377\377\377\377\377\377' | dd of=$p bs=1 seek=40 conv=notrunc 2>/dev/null; done`,
	"patterns that explode":     `python3 -c 'print("\n".join(["a"+"*a"*60+"b", "**/"*80+"x", "["*3000, "!"*900, "\\"*99, "[z-a]", "*"*5000]))' > .gitignore; touch src/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`,
	"includes":                  `printf '[include]\npath = /dev/zero\n[core]\nexcludesFile = /dev/zero\nattributesFile = /dev/zero\n' >> .git/config`,
	"a worktree elsewhere":      `git config core.worktree /`,
	"a submodule":               `git init -q ../other/m; mkdir sub; echo "gitdir: ../.git/modules/../../../other/m/.git" > sub/.git`,
}

const hostileStart = `repo; mkdir src; write 5 src/a.c; write 5 b; save one; commit -m two; git branch other; git remote add origin ../r
git update-ref refs/remotes/origin/main HEAD~1; write 9 src/a.c; git stash -q; write 7 src/a.c; write 3 src/new
TRAP=$PWD/../trap; printf '#!/bin/sh\necho ran > %s/../mark\n' "$PWD" > $TRAP; chmod +x $TRAP
mkdir ../bin; for p in git sh bash fsmonitor less ssh gpg; do cp $TRAP ../bin/$p; done
`

// TestOf_HostileRepositoriesStartNoProgram runs the computation in a process whose system calls are recorded.
func TestOf_HostileRepositoriesStartNoProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs strace")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		strace = "" // the traps are checked nevertheless
	}
	require.GreaterOrEqual(t, len(hostile), 20)
	program, err := os.Executable()
	require.NoError(t, err)
	for name, script := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := prepare(t, hostileStart+script)
			trace := filepath.Join(filepath.Dir(dir), "trace")
			args := []string{program}
			if strace != "" {
				args = []string{strace, "-f", "-o", trace, "-e", "trace=execve,execveat,fork,vfork,clone,clone3,socket,connect", program}
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), childVariable+"="+dir, "PATH="+filepath.Join(filepath.Dir(dir), "bin"))
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, "%s", errs.String())
			require.GreaterOrEqual(t, strings.Count(string(out), "\n"), len(hostileCalls), "it computed all of them")
			require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "mark"))
			if name == "fsmonitor" { // the trap works
				_ = exec.Command("git", "-C", dir, "status").Run()
				require.FileExists(t, filepath.Join(filepath.Dir(dir), "mark"))
			}
			if strace == "" {
				return
			}
			calls, err := os.ReadFile(trace)
			require.NoError(t, err)
			require.Contains(t, string(calls), "execve(", "the recording works")
			for line := range strings.Lines(string(calls)) {
				started := strings.Contains(line, "exec") && !strings.Contains(line, program) ||
					strings.Contains(line, "fork(") || strings.Contains(line, "clone") && !strings.Contains(line, "CLONE_THREAD")
				isResumed := strings.Contains(line, "resumed>")
				require.False(t, started && !isResumed, line)
				require.NotContains(t, line, "socket(", line)
				require.NotContains(t, line, "connect(", line)
			}
		})
	}
}

// A named pipe for the shell's working directory must not block, and a tree without an end must stop.
func TestOf_StopsAtItsLimits(t *testing.T) {
	t.Parallel()
	dir := prepare(t, `repo; mkdir -p a/b; ln -s a a/loop; ln -s ../../a a/b/up; for i in $(seq 300); do echo x > a/$i; done`)
	read := call.Read(call.Input{Tool: "Bash", Dir: filepath.ToSlash(dir), Arguments: []byte(`{"command":"rm -rf a"}`)})
	got := consequence.Of(consequence.Input{Call: read, MaxTime: 10 * time.Second, MaxEntries: 100})
	require.True(t, got.Partial)
	require.LessOrEqual(t, *got.Files, int64(100))
	require.Contains(t, strings.Join(got.Sentences, "\n"), "Removes at least ")
	require.Contains(t, strings.Join(got.Sentences, "\n"), "Stopped after 100 directory entries.")

	got = consequence.Of(consequence.Input{Call: read, MaxTime: time.Nanosecond})
	require.True(t, got.Partial)
	require.NotEmpty(t, got.Sentences)
}

// A tree of more files than the limit gets a lower bound that says so.
func TestOf_LimitsHugeTree(t *testing.T) {
	t.Parallel()
	dir := prepare(t, "repo")
	for i := range consequence.MaxEntries + 1000 {
		if i%1000 == 0 {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", strconv.Itoa(i/1000)), 0o700))
		}
		f, err := os.Create(filepath.Join(dir, "a", strconv.Itoa(i/1000), strconv.Itoa(i)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for _, command := range []string{"rm -rf a", "git clean -fd", "chmod -R 700 a", "find a -delete"} {
		got := of(dir, command)
		require.True(t, got.Partial, command)
		require.LessOrEqual(t, *got.Files, int64(consequence.MaxEntries), command)
		require.Contains(t, got.Sentences, "Stopped after 50000 directory entries.", command)
	}
}

// BenchmarkOf measures a tree of 20,000 files, all of them in git.
func BenchmarkOf(b *testing.B) {
	dir := prepare(b, `repo; for d in $(seq 200); do mkdir -p src/$d; done; cd src
for d in $(seq 200); do (cd $d; seq 100 | split -l 1 -a 3); done; cd ..; save one`)
	for _, command := range []string{"rm -rf src", "git reset --hard", "git clean -fdx", "rm src/1/xaaa"} {
		b.Run(command, func(b *testing.B) {
			for b.Loop() {
				of(dir, command)
			}
		})
	}
}
