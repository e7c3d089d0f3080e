package sqlite

import (
	"encoding/binary"
)

// See migrations/0003_search.sql for the structure of the index.
const (
	blockBits      = 10
	blockSize      = 1 << blockBits
	trigramBits    = 20
	slicesPerBlock = 64
	sliceShift     = trigramBits - 6
)

// maxTrigrams is the number of different trigrams above which a segment is saturated. It
// holds base64 or the like: listing its trigrams would take more space than searching it
// is worth, so it is always a candidate.
const maxTrigrams = 32 << 10

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

// requiredTrigrams returns the hashes of trigrams that a text with all the literals
// contains, without duplicates. It stops at a few, which are as selective as many.
func requiredTrigrams(literals []string) (list []uint32) {
	const enough = 24
	seen := map[uint32]bool{}
	for _, l := range literals {
		eachTrigram([]byte(l), func(g uint32) {
			if !seen[g] && len(list) < enough {
				seen[g] = true
				list = append(list, g)
			}
		})
	}
	return list
}

// blockBuilder builds the index of a block: for every trigram hash a bit mask of the
// segments that contain it.
type blockBuilder struct {
	segments     [1 << trigramBits]uint16
	trigramCount int // distinct hashes in the current segment
	saturated    uint16
}

// add indexes a text of segment n.
func (b *blockBuilder) add(n int, text []byte) {
	bit := uint16(1) << n
	eachTrigram(text, func(g uint32) {
		if b.segments[g]&bit == 0 {
			b.segments[g] |= bit
			b.trigramCount++
		}
	})
	if b.trigramCount > maxTrigrams {
		b.saturated |= bit
	}
}

// encodeSlice appends the encoded trigrams whose hash begins with the 6 bits n.
func (b *blockBuilder) encodeSlice(n int, dst []byte) []byte {
	last := -1
	for low := range 1 << sliceShift {
		mask := b.segments[n<<sliceShift|low] &^ b.saturated
		if mask == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(low-last))
		dst = binary.LittleEndian.AppendUint16(dst, mask)
		last = low
	}
	return dst
}

// lookupTrigram returns the segments of a trigram from its encoded slice, as a bit mask.
func lookupTrigram(slice []byte, hash uint32) uint16 {
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
