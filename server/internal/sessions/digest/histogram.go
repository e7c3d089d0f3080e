package digest

import "math"

// Durations are counted in buckets: one per millisecond up to exactBuckets, then each wider than
// the previous one by bucketRatio. A percentile computed from them is within 5 % of the true
// one.
const (
	exactBuckets = 64
	bucketRatio  = 1.08
)

// Bucket returns the histogram bucket of a duration in ms.
func Bucket(ms int64) int64 {
	if ms < exactBuckets {
		return max(0, ms)
	}
	return exactBuckets + int64(math.Log(float64(ms)/exactBuckets)/math.Log(bucketRatio))
}

// BucketMidpoint returns the duration, in ms, that represents a bucket.
func BucketMidpoint(bin int64) int64 {
	if bin < exactBuckets {
		return max(0, bin)
	}
	return int64(math.Round(exactBuckets * math.Pow(bucketRatio, float64(bin-exactBuckets)+0.5)))
}

// Histogram maps buckets to counts.
type Histogram map[int64]int64

// Percentile returns the duration, in ms, that a share p of the values does not exceed, or 0 for
// an empty histogram.
func (t Histogram) Percentile(p float64) int64 {
	total := int64(0)
	last := int64(0)
	for bin, n := range t {
		total += n
		last = max(last, bin)
	}
	if total == 0 {
		return 0
	}
	rank := max(1, int64(math.Ceil(p*float64(total))))
	for bin := int64(0); bin < last; bin++ {
		if rank -= t[bin]; rank <= 0 {
			return BucketMidpoint(bin)
		}
	}
	return BucketMidpoint(last)
}
