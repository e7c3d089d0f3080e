package rules_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

// TestDecide_RulesOfOlderDatabase opens a database with rules that the code before the policy language
// wrote, one of each form. All keep their sentences and decide as before.
func TestDecide_RulesOfOlderDatabase(t *testing.T) {
	t.Parallel()
	dump, err := os.ReadFile("testdata/stored_rules.sql")
	require.NoError(t, err)
	file := storetest.NewSQLiteFile(t)
	open := func() store.Store {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: file, ReserveFileBytes: -1})
		require.NoError(t, err)
		return s
	}
	require.NoError(t, open().Close())
	old, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = old.ExecContext(t.Context(), string(dump))
	require.NoError(t, err)
	require.NoError(t, old.Close())
	s := open()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	stored, err := s.LiveRules(t.Context(), time.UnixMilli(int64(now)))
	require.NoError(t, err)
	require.Len(t, stored, 16)
	var all []rules.StoredRule
	calls := []*rules.Call{ // first those that the rules were made from
		bash("npm test --bail src"), call("Write", `{"file_path":"/home/dev/shop/src/a.go","content":"x"}`),
		call("mcp__x__y", `{"amount":50,"to":{"name":"ada"},"dry":true,"command":"git log -5 main"}`),
	}
	for _, c := range readJSONLines[recordedCall](t, "testdata/differential/calls.jsonl") {
		calls = append(calls, c.call())
	}
	var lines []string
	for _, r := range stored {
		entry := rules.StoredRule{Rule: r.Rule, After: r.After, Since: r.Since}
		all = append(all, entry)
		if r.Call == "" { // otherwise the sentence has an excerpt of the call
			require.Equal(t, r.Text, rules.Sentence(&r.Rule, nil))
		}
		var decisions []string
		set, err := rules.NewSet([]rules.StoredRule{entry})
		require.NoError(t, err)
		for _, c := range calls {
			decisions = append(decisions, fmt.Sprint(set.Decide(c, now) != nil))
		}
		lines = append(lines, fmt.Sprintf("%s %s", r.Text, runLengths(decisions)))
	}
	set, err := rules.NewSet(all)
	require.NoError(t, err)
	var decisions []string
	for _, c := range calls {
		id := int64(0)
		if r := set.Decide(c, now); r != nil {
			id = r.ID
		}
		decisions = append(decisions, fmt.Sprint(id))
	}
	compareGolden(t, "testdata/differential/golden_stored.txt", append(lines, runLengths(decisions)))
}
