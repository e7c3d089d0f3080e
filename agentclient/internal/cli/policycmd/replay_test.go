package policycmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"7d": now.AddDate(0, 0, -7), "12h": now.Add(-12 * time.Hour), "90m": now.Add(-90 * time.Minute), "all": {},
	} {
		got, err := parseSince(text, now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "7", "d", "0d", "-1d", "0s", "-5m", "1e9d", "99999999999d", "week", "1d2h"} {
		_, err := parseSince(text, now)
		require.Error(t, err, "%q", text)
	}
}

func TestFormatCount_GroupsDigits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 calls", 1: "1 call", 999: "999 calls", 1000: "1,000 calls", 1234567: "1,234,567 calls"} {
		require.Equal(t, want, formatGroupedCount(n, "call"))
	}
}
