package feed_test

import (
	"sync"
	"testing"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
)

const benchReaders = 1000

// BenchmarkPublish compares publishing to 1,000 readers of a Feed with publishing to 1,000
// channels. x-fanout is how many times longer the channels take.
func BenchmarkPublish(b *testing.B) {
	var ring, fanout time.Duration
	n := 0
	for b.Loop() {
		ring += publishToFeed(512)
		fanout += publishToChannels(512)
		n += 512
	}
	b.ReportMetric(float64(ring.Nanoseconds())/float64(n), "feed-ns/frame")
	b.ReportMetric(float64(fanout.Nanoseconds())/float64(n), "channels-ns/frame")
	b.ReportMetric(float64(fanout)/float64(ring), "x-fanout")
}

// publishToFeed returns the time that the publisher needs for n frames.
func publishToFeed(n int64) time.Duration {
	f := feed.New(0, 4096, 64<<20)
	var wg sync.WaitGroup
	for range benchReaders {
		wg.Go(func() {
			for cursor := int64(0); cursor < n; {
				frames, more, _ := f.After(cursor)
				if len(frames) == 0 {
					<-more
					continue
				}
				cursor = frames[len(frames)-1].Seq
			}
		})
	}
	data := make([]byte, 1200)
	start := time.Now()
	for seq := range n {
		f.Publish(feed.Frame{Seq: seq + 1, Data: data})
	}
	took := time.Since(start)
	wg.Wait()
	return took
}

// publishToChannels does the same with a channel per reader.
func publishToChannels(n int64) time.Duration {
	queues := make([]chan feed.Frame, benchReaders)
	var wg sync.WaitGroup
	for i := range queues {
		queues[i] = make(chan feed.Frame, 256)
		wg.Go(func() {
			for range queues[i] {
				continue
			}
		})
	}
	data := make([]byte, 1200)
	start := time.Now()
	for seq := range n {
		for _, q := range queues {
			q <- feed.Frame{Seq: seq + 1, Data: data}
		}
	}
	took := time.Since(start)
	for _, q := range queues {
		close(q)
	}
	wg.Wait()
	return took
}
