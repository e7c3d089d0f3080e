package sign_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// sealedLedger returns a valid hash chain of n entries, as lines of an export.
func sealedLedger(t testing.TB, n int) []string {
	lines, prev := make([]string, n), sign.FirstPrev
	for i := range lines {
		e := sign.LedgerEntry{At: schema.Millis(1795262403000 + i), Action: "question.voted", Actor: "ada <admin>", QuestionID: 41}
		if i%2 == 1 {
			e.Data = json.RawMessage(fmt.Sprintf(`{"choice":"approve & go","n":%d}`, i))
		}
		require.NoError(t, e.Seal(int64(i), prev))
		line, err := json.Marshal(e)
		require.NoError(t, err)
		lines[i], prev = string(line), e.Hash
	}
	return lines
}

func checkLedger(lines []string) (check sign.LedgerCheck, err error) {
	for _, line := range lines {
		if err = check.Next([]byte(line)); err != nil {
			break
		}
	}
	return check, err
}

func TestLedgerCheck_AcceptsIntactLedger(t *testing.T) {
	t.Parallel()
	lines := sealedLedger(t, 5)
	check, err := checkLedger(lines)
	require.NoError(t, err)
	require.EqualValues(t, 5, check.N)
	require.Contains(t, lines[4], check.Head)
}

// The hash can be reproduced without this package, from the line without its hash and SHA-256.
func TestLedgerEntry_HashCoversLineWithoutHash(t *testing.T) {
	t.Parallel()
	for _, line := range sealedLedger(t, 2) {
		content, hash, ok := strings.Cut(line, `,"hash":"`)
		require.True(t, ok)
		sum := sha256.Sum256([]byte(content + "}"))
		require.Equal(t, hex.EncodeToString(sum[:])+`"}`, hash)
	}
}

func TestLedgerCheck_NamesFirstBrokenEntry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tamper func(lines []string) []string
		want   string
	}{
		"different person": {func(l []string) []string {
			l[2] = strings.Replace(l[2], "ada", "eve", 1)
			return l
		}, "entry 3 was changed"},
		"different time": {func(l []string) []string {
			l[1] = strings.Replace(l[1], `"at":1795262403001`, `"at":1795262403009`, 1)
			return l
		}, "entry 2 was changed"},
		"different data": {func(l []string) []string {
			l[3] = strings.Replace(l[3], "approve", "deny", 1)
			return l
		}, "entry 4 was changed"},
		"entry removed":       {func(l []string) []string { return append(l[:1], l[2:]...) }, "entry 2 is missing: found number 3"},
		"first entry removed": {func(l []string) []string { return l[1:] }, "entry 1 is missing: found number 2"},
		"entries swapped":     {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }, "entry 2 is missing: found number 3"},
		"entry repeated":      {func(l []string) []string { l[2] = l[1]; return l }, "entry 3 is missing: found number 2"},
		"not JSON":            {func(l []string) []string { l[4] = l[4][1:]; return l }, "entry 5 is not readable"},
		"duplicate member":    {func(l []string) []string { l[0] = `{"who":"eve",` + l[0][1:]; return l }, "entry 1 is not in the canonical encoding of the hub"},
		"extra member":        {func(l []string) []string { l[0] = `{"x":1,` + l[0][1:]; return l }, "entry 1 is not in the canonical encoding of the hub"},
		"different history":   {func(l []string) []string { return append(l[:1], reseal(l[1:])...) }, "entry 2 does not continue entry 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := checkLedger(tc.tamper(sealedLedger(t, 5)))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// reseal turns lines into a separate hash chain with the same numbers.
func reseal(lines []string) []string {
	prev := strings.Repeat("a", 64)
	for i, line := range lines {
		var e sign.LedgerEntry
		_ = json.Unmarshal([]byte(line), &e)
		_ = e.Seal(e.N-1, prev)
		b, _ := json.Marshal(e)
		lines[i], prev = string(b), e.Hash
	}
	return lines
}
