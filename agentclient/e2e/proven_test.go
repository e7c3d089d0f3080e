package e2e_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const provenFile = "../install/proven.json"

// agentResults are the results of the tests of each agent.
type agentResults struct {
	mu     sync.Mutex
	passed map[string]bool // by agent; no entry without a test that ran
}

var results agentResults

// watch adds the result of a test of that agent at its end.
func (r *agentResults) watch(t testing.TB, agent string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Skipped() {
			r.add(agent, !t.Failed())
		}
	})
}

func (r *agentResults) add(agent string, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed == nil {
		r.passed = map[string]bool{}
	}
	before, there := r.passed[agent]
	r.passed[agent] = passed && (before || !there)
}

// write writes the version of each agent whose tests all passed to the file, unless the run was limited
// to some tests. Other agents keep their entries.
func (r *agentResults) write(file string) error {
	for _, limit := range []string{"test.run", "test.skip"} {
		if flag.Lookup(limit).Value.String() != "" {
			return nil
		}
	}
	return r.merge(file, programs)
}

func (r *agentResults) merge(file string, tested map[string]program) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	versions := map[string]string{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &versions)
	}
	if err != nil {
		return err
	}
	for agent, passed := range r.passed {
		if passed {
			versions[agent] = tested[agent].version
		}
	}
	if text, err = json.MarshalIndent(versions, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// A version is proven if every test of its agent passed. One failure keeps the earlier version.
func TestAgentResults_OnlyPassedVersionsAreProven(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proven.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"codex":"1.0.0","gemini":"1.0.0","qwen":"1.0.0"}`), 0o600))
	var r agentResults
	for _, result := range []struct {
		agent  string
		passed bool
	}{{"codex", true}, {"gemini", true}, {"codex", true}, {"gemini", false}, {"gemini", true}, {"droid", true}, {"cline", false}} {
		r.add(result.agent, result.passed)
	}
	tested := map[string]program{}
	for _, agent := range []string{"codex", "gemini", "qwen", "droid", "cline"} {
		tested[agent] = program{version: "2.0.0"}
	}
	require.NoError(t, r.merge(file, tested))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, `{
  "codex": "2.0.0",
  "droid": "2.0.0",
  "gemini": "1.0.0",
  "qwen": "1.0.0"
}
`, string(text))
}
