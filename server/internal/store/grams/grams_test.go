package grams

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuilder_EncodesEveryTrigram compares the encoded form with a map.
func TestBuilder_EncodesEveryTrigram(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	b, want := new(Builder), map[uint32]uint16{}
	for n := range BlockSize >> SegmentBits {
		text := make([]byte, 3000)
		for i := range text {
			text[i] = "abcdefgh é\n"[r.IntN(11)]
		}
		b.Add(n, text)
		eachTrigram(text, func(g uint32) { want[g] |= 1 << n })
	}
	require.Greater(t, len(want), 500)
	slices := make([][]byte, SlicesPerBlock)
	for i := range slices {
		slices[i] = b.EncodeSlice(i, nil)
	}
	for g := range uint32(1 << trigramBits) {
		if got := Lookup(slices[Slice(g)], g); got != want[g] { // a million require.Equal take long
			require.Equal(t, want[g], got, "trigram %#x", g)
		}
	}
	require.Zero(t, Lookup([]byte{0x80}, 1), "a truncated slice is harmless")
	require.Zero(t, Lookup([]byte{1, 0}, 0), "a truncated slice is harmless")
}

func TestTrigrams_StayWithinLine(t *testing.T) {
	t.Parallel()
	of := func(text string) (list []uint32) {
		eachTrigram([]byte(text), func(g uint32) { list = append(list, g) })
		return list
	}
	abc, bcd := trigramHash('a', 'b', 'c'), trigramHash('b', 'c', 'd')
	require.Equal(t, []uint32{abc, bcd}, of("abcd"))
	require.Equal(t, []uint32{abc, bcd}, of("abc\nbcd"))
	require.Equal(t, []uint32{abc}, of("abc\nx\n"))
	require.Empty(t, of("ab"))
	require.Equal(t, []uint32{bcd, abc}, Required([]string{"abc", "ab", "abcd"}), "without duplicates, the rarer one first")
	require.Len(t, Required([]string{"日"}), 1, "a letter of three bytes is a trigram")
	require.Less(t, len(Required([]string{strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 3)})), 36)
}

// TestSet_RangesCoverSet compares ranges with a loop over every number.
func TestSet_RangesCoverSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		base := int64(r.IntN(3)) * WindowSize
		from := base + int64(r.IntN(900))
		to := from + int64(r.IntN(900))
		set := new(Set)
		for i := range set {
			set[i] = r.IntN(2) == 0
		}
		var want []int64
		for n := from; n <= to; n++ {
			if set[(n-base)>>SegmentBits] {
				want = append(want, n)
			}
		}
		for _, ascending := range []bool{true, false} {
			var got []int64
			last := Range{}
			for piece := range set.Ranges(from, to, ascending) {
				require.LessOrEqual(t, piece.From, piece.To)
				require.True(t, last == Range{} || ascending && piece.From > last.To+1 || !ascending && piece.To < last.From-1, "neighbors form one range")
				last = piece
				for n := piece.From; n <= piece.To; n++ {
					got = append(got, n)
				}
			}
			slices.Sort(got)
			require.Equal(t, want, got)
		}
	}
	for range new(Set).Ranges(0, WindowSize-1, false) {
		require.Fail(t, "an empty set has no ranges")
	}
	for piece := range new(Set).Fill().Ranges(7, WindowSize-1, false) {
		require.Equal(t, Range{7, WindowSize - 1}, piece)
	}
}

func TestSet_HasBlock(t *testing.T) {
	t.Parallel()
	set := new(Set)
	set[0], set[SegmentsPerWindow-1] = true, true
	const blocks = WindowSize >> BlockBits
	for n := range int64(blocks) {
		require.Equal(t, n == 0 || n == blocks-1, set.HasBlock(7*blocks+n))
	}
}
