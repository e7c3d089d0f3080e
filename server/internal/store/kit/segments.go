package kit

import "github.com/hookback/hookback/server/internal/store/grams"

// KeepSegmentsOf removes the segments of a window without any of the rows.
func KeepSegmentsOf(set *grams.Set, seqs []int64) {
	var found grams.Set
	for _, seq := range seqs {
		found[seq>>grams.SegmentBits%grams.SegmentsPerWindow] = true
	}
	keep(set, &found)
}

// KeepNameSegments removes the segments of a window that are in none of the name segments.
func KeepNameSegments(set *grams.Set, segments []int64) {
	var found grams.Set
	for _, segment := range segments {
		const perNameSegment = NameSegmentSize >> grams.SegmentBits
		for i := range int64(perNameSegment) {
			found[(segment*perNameSegment+i)%grams.SegmentsPerWindow] = true
		}
	}
	keep(set, &found)
}

func keep(set, found *grams.Set) {
	for i := range set {
		set[i] = set[i] && found[i]
	}
}

// KeepIndexed removes the segments of a block that are not in a bit mask.
func KeepIndexed(set *grams.Set, block int64, mask uint16) {
	const perBlock = grams.BlockSize >> grams.SegmentBits
	for i := range int64(perBlock) {
		at := (block*perBlock + i) % grams.SegmentsPerWindow
		set[at] = set[at] && mask&(1<<i) != 0
	}
}

// MaxBlockRanges bounds the queries for a trigram in a window.
const MaxBlockRanges = 8
