package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

const crashFileEnv = "HOOKBACK_STORE_CRASH_TEST"

// runCrashChild runs the child process of the crash tests. It writes until it is killed
// and prints every acknowledged write. It returns false in the parent process.
func runCrashChild() bool {
	file := os.Getenv(crashFileEnv)
	if file == "" {
		return false
	}
	s, err := openEngine(context.Background(), Config{Path: file, ReserveFileBytes: -1})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	if strings.HasSuffix(file, crashIndexName) {
		indexUntilKilled(s)
		return true
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				d := conformance.NewDraft("app", strconv.Itoa(i), "PreToolUse", "Bash")
				if n%4 == 0 {
					d = conformance.NewQuestionDraft(strconv.Itoa(i), conformance.ClockStart)
				}
				r, err := s.Append(context.Background(), d)
				if err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println("event", r.Event.ID, d.UID)
				if d.NewQuestion == nil {
					continue
				}
				q, err := s.Question(context.Background(), r.Event.ID)
				if err == nil {
					err = s.Apply(context.Background(), conformance.AnswerChange(q))
				}
				if err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println("answer", r.Event.ID, d.UID)
			}
		})
	}
	wg.Wait()
	return true
}

// crashIndexName is the database name for which the child builds the trigram index.
const crashIndexName = "index.db"

func indexUntilKilled(s *engine) {
	x := s.NewIndexer()
	for n := 0; ; n++ {
		if more, err := x.BuildNext(context.Background()); err != nil || !more {
			fmt.Println("error", more, err)
			return
		}
		fmt.Printf("event %d %s\n", n, strings.Repeat("-", 36))
	}
}

// After kill -9 the index has only complete blocks, and the indexer resumes after them.
func TestIndexer_ResumesAfterKill(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, func(c *Config) { c.Path = t.TempDir() + "/" + crashIndexName })
	b.AppendMany(t, 8*grams.BlockSize, func(i int) *store.EventDraft {
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.Payload = fmt.Appendf(nil, `{"text":"word%dx"}`, i+1)
		return d
	})
	for _, blocks := range []int{1, 3} {
		before := b.countBlocks(t)
		require.NoError(t, b.Close())
		killAfter(t, b.cfg.Path, blocks)
		b.Open(t)
		require.GreaterOrEqual(t, b.countBlocks(t), before+blocks)
		require.Equal(t, b.countBlocks(t)*grams.SlicesPerBlock, b.countTrigramRows(t), "no block is incomplete")
		all, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "word77*x word7777x")})
		require.Empty(t, all)
		all, _ = b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "text:word77*x")})
		require.Len(t, all, 111)
	}
	buildIndex(t, b.engine)
	require.Equal(t, 8, b.countBlocks(t))
}

// kill -9 at any moment loses no acknowledged write.
func TestStore_LosesNothingOnKill(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/hub.db"
	total := 0
	for round := range 3 {
		acked := killAfter(t, file, 300+200*round)
		s, err := openEngine(context.Background(), Config{Path: file, ReserveFileBytes: -1})
		require.NoError(t, err)
		for _, line := range acked {
			what, rest, _ := strings.Cut(line, " ")
			id, uid, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseInt(id, 10, 64)
			require.NoError(t, err, line)
			if what == "answer" {
				q, err := s.Question(context.Background(), schema.EventID(n))
				require.NoError(t, err, line)
				require.Equal(t, schema.Responded, q.State, line)
				require.Equal(t, uid, q.UID)
				require.False(t, q.Delivery.Due.IsZero(), "an interrupted delivery is due")
				continue
			}
			e, _, err := s.Event(context.Background(), schema.EventID(n))
			require.NoError(t, err, line)
			require.Equal(t, uid, e.UID)
		}
		total += len(acked)
		conformance.RequireDense(t, s)
		require.NoError(t, s.Close())
	}
	require.Greater(t, total, 3*300)
}

// killAfter runs a child until it has acknowledged the given number of writes, kills it
// and returns them.
func killAfter(t *testing.T, file string, rows int) (acked []string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), crashFileEnv+"="+file)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "event") || strings.HasPrefix(line, "answer") {
			if strings.Count(line, " ") == 2 && len(line) > 36 { // complete
				acked = append(acked, line)
			}
		} else {
			require.Failf(t, "the child failed", "%s", line)
		}
		if len(acked) == rows {
			require.NoError(t, child.Process.Kill())
		}
	}
	_ = child.Wait() // killed
	return acked
}
