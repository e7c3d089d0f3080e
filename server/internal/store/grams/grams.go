// Package grams is the trigram index of the text search, without its storage: an engine
// stores blocks of encoded slices, and asks them which segments of the log may contain a
// text. It does no I/O.
package grams

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
)

// The log is divided into blocks, the unit that is built and stored, and a block into
// segments, the finest unit that the index distinguishes. For each of its trigrams a block
// has a bit mask of segments. It is encoded in slices by the first bits of the hash, so that
// a search reads one slice per trigram.
const (
	BlockBits      = 10
	BlockSize      = 1 << BlockBits
	trigramBits    = 20
	SlicesPerBlock = 64
	sliceShift     = trigramBits - 6
	SegmentBits    = 6
)

// WindowSize is how many sequence numbers a Set covers.
const (
	WindowSize        = 64 << 10
	SegmentsPerWindow = WindowSize >> SegmentBits
)

// MaxTrigrams is the number of different trigrams above which a segment is saturated. It
// holds base64 or the like: listing its trigrams would take more space than searching it
// is worth, so it is always a candidate.
const MaxTrigrams = 32 << 10

// trigramHash returns the 20-bit hash of three bytes of folded text.
func trigramHash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> (32 - trigramBits)
}

// eachTrigram calls fn with the hashes of a text's trigrams, except those across lines.
func eachTrigram(text []byte, fn func(hash uint32)) {
	for i := 0; i+2 < len(text); i++ {
		if text[i+2] == '\n' {
			i += 2 // the next two trigrams contain the newline, too
			continue
		}
		fn(trigramHash(text[i], text[i+1], text[i+2]))
	}
}

// Required returns the hashes of trigrams that a text with all the literals contains, without
// duplicates. It stops at a few, which are as selective as many. The ones that are probably in the
// fewest segments are first.
func Required(literals []string) []uint32 {
	const enough = 24
	type trigram struct {
		hash uint32
		rank int
	}
	var list []trigram
	seen := map[uint32]bool{}
	for _, l := range literals {
		text := []byte(l)
		for i := 0; i+2 < len(text); i++ {
			eachTrigram(text[i:i+3], func(hash uint32) {
				if !seen[hash] && len(list) < enough {
					seen[hash] = true
					list = append(list, trigram{hash, letterRank(text[i]) + letterRank(text[i+1]) + letterRank(text[i+2])})
				}
			})
		}
	}
	slices.SortStableFunc(list, func(a, b trigram) int { return a.rank - b.rank })
	hashes := make([]uint32, len(list))
	for i, t := range list {
		hashes[i] = t.hash
	}
	return hashes
}

// letterRank orders the letters by their frequency in English text and code, from 0 for the
// rarest. Any other byte counts as a frequent letter.
func letterRank(c byte) int {
	const byFrequency = "qzjxkvwybghfumpdclosrnatie"
	if i := strings.IndexByte(byFrequency, c); i >= 0 {
		return i
	}
	return len(byFrequency) / 2
}

// Builder builds the index of a block: for every trigram hash a bit mask of the
// segments that contain it.
type Builder struct {
	segments     [1 << trigramBits]uint16
	segment      int    // the current one
	trigramCount int    // distinct hashes in it
	Saturated    uint16 // segments with too many trigrams, which are always candidates
}

// Add indexes a text of segment n. The texts of a segment are added together.
func (b *Builder) Add(n int, text []byte) {
	if n != b.segment {
		b.segment, b.trigramCount = n, 0
	}
	bit := uint16(1) << n
	eachTrigram(text, func(g uint32) {
		if b.segments[g]&bit == 0 {
			b.segments[g] |= bit
			b.trigramCount++
		}
	})
	if b.trigramCount > MaxTrigrams {
		b.Saturated |= bit
	}
}

// EncodeSlice appends the encoded trigrams whose hash begins with the 6 bits n.
func (b *Builder) EncodeSlice(n int, dst []byte) []byte {
	last := -1
	for low := range 1 << sliceShift {
		mask := b.segments[n<<sliceShift|low] &^ b.Saturated
		if mask == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(low-last))
		dst = binary.LittleEndian.AppendUint16(dst, mask)
		last = low
	}
	return dst
}

// Slices returns all encoded slices.
func (b *Builder) Slices() [][]byte {
	slices := make([][]byte, SlicesPerBlock)
	for i := range slices {
		slices[i] = b.EncodeSlice(i, []byte{})
	}
	return slices
}

// Slice returns the number of the slice that holds a trigram.
func Slice(hash uint32) int { return int(hash >> sliceShift) }

// Lookup returns the segments of a trigram from its encoded slice, as a bit mask.
func Lookup(slice []byte, hash uint32) uint16 {
	want, low := int64(hash&(1<<sliceShift-1)), int64(-1)
	for len(slice) > 0 {
		step, n := binary.Uvarint(slice)
		if n <= 0 || len(slice) < n+2 {
			break
		}
		if low += int64(step); low >= want {
			if low == want {
				return binary.LittleEndian.Uint16(slice[n:])
			}
			break
		}
		slice = slice[n+2:]
	}
	return 0
}

// Set is a set of segments of a window.
type Set [SegmentsPerWindow]bool

// Fill adds all segments.
func (s *Set) Fill() *Set {
	for i := range s {
		s[i] = true
	}
	return s
}

// HasBlock reports whether the set has a segment of a block.
func (s *Set) HasBlock(block int64) bool {
	const perBlock = BlockSize >> SegmentBits
	first := block * perBlock % SegmentsPerWindow
	return slices.Contains(s[first:first+perBlock], true)
}

// Range is a range of sequence numbers, both ends inclusive.
type Range struct{ From, To int64 }

// Ranges returns the maximal ranges of the set's segments within from and to, in search
// order.
func (s *Set) Ranges(from, to int64, ascending bool) iter.Seq[Range] {
	base := from &^ (WindowSize - 1)
	first, last := (from-base)>>SegmentBits, (to-base)>>SegmentBits
	step := int64(1)
	if !ascending {
		first, last, step = last, first, -1
	}
	return func(yield func(Range) bool) {
		for i := first; i != last+step; i += step {
			if !s[i] {
				continue
			}
			begin := i
			for i != last && s[i+step] {
				i += step
			}
			low, high := min(begin, i), max(begin, i)
			if !yield(Range{max(from, base+low<<SegmentBits), min(to, base+(high+1)<<SegmentBits-1)}) {
				return
			}
		}
	}
}
