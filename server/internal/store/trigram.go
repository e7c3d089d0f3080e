package store

import (
	"encoding/binary"
)

// See migrations/0003_search.sql for the words.
const (
	blockBits      = 10
	blockSize      = 1 << blockBits
	trigramBits    = 20
	slicesPerBlock = 64
	sliceShift     = trigramBits - 6
)

// maxTrigrams is how many different grams a stretch may have. One with more is base64
// or the like: to say what is in it would take more room than to look.
const maxTrigrams = 32 << 10

// trigramHash names three bytes of folded text.
func trigramHash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> (32 - trigramBits)
}

// eachTrigram calls fn with the grams of a text, but for those across lines.
func eachTrigram(text []byte, fn func(gram uint32)) {
	for i := 0; i+2 < len(text); i++ {
		if text[i+2] == '\n' {
			i += 2 // and the next two
			continue
		}
		fn(trigramHash(text[i], text[i+1], text[i+2]))
	}
}

// requiredTrigrams are the grams that a text with all the literals has, each once. A few
// tell as much as many.
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

// blockBuilder is the index of a block while it is made: of every gram the stretches.
type blockBuilder struct {
	segments     [1 << trigramBits]uint16
	trigramCount int // of the stretch under way
	saturated    uint16
}

// add takes in a text of stretch n.
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

// encodeSlice encodes the grams that begin with 6 bits.
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

// lookupTrigram finds a gram in its slice: in which stretches it is.
func lookupTrigram(slice []byte, gram uint32) uint16 {
	want, low := int64(gram&(1<<sliceShift-1)), int64(-1)
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
