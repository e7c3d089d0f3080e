package bus_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDecode(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int64{
		"1": 1, "42": 42, "9223372036854775807": math.MaxInt64,
		"": 0, "0": 0, "-1": 0, "1.5": 0, "1e3": 0, "0x10": 0, " 1": 0, "1\n": 0, "x": 0, "9223372036854775808": 0,
		"00000000000000000001": 0, "\x00": 0, "1;2": 0, "1_000": 0,
	} {
		head, ok := bus.Decode(message)
		require.Equal(t, want > 0, ok, message)
		if ok {
			require.Equal(t, want, head, message)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("17")
	f.Add("+17")
	f.Fuzz(func(t *testing.T, message string) {
		if head, ok := bus.Decode(message); ok {
			require.Positive(t, head)
			again, ok := bus.Decode(bus.Encode(head))
			require.True(t, ok)
			require.Equal(t, head, again)
			require.LessOrEqual(t, len(message), len(strconv.FormatInt(math.MaxInt64, 10)))
		}
	})
}
