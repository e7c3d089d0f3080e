package hubtest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPaced posts plain events at the pace of people and their agents while pages are
// open. It reports the cost of each event for the server, the time until its POST is answered, and
// the time from the beginning of the POST until each page has the event. Run it with
// -benchtime 10s.
func BenchmarkPaced(b *testing.B) {
	for _, c := range []struct{ perSecond, pages int }{{50, 0}, {100, 50}, {500, 10}} {
		for _, role := range comparedServers("floor") {
			b.Run(fmt.Sprintf("%s/rate=%d/pages=%d", role, c.perSecond, c.pages), func(b *testing.B) {
				s := startServer(b, role)
				newLoad(b, s.addr, 4).run(b, 200) // warm
				s.waitUntilIdle(b)
				a := newArrivals()
				for range c.pages {
					watchStream(b, s.addr, "?v=2", a.message)
				}
				use := startUsage(b, s)
				n, posts := postPaced(b, s, c.perSecond, func(n int) { a.expect(n, c.pages) })
				a.missing.Wait()
				use.report(b, n, "event")
				reportLatency(b, "post", posts)
				reportLatency(b, "page", a.took)
			})
		}
	}
}

// postPaced posts one event per loop of the benchmark and calls sending with its number
// before. It returns their number and how long each POST took.
func postPaced(b *testing.B, s *serverProcess, perSecond int, sending func(n int)) (n int, took []time.Duration) {
	b.Helper()
	const posters = 4
	l := newLoad(b, s.addr, posters)
	numbers := make(chan int, perSecond) // a second behind at most, and then slower
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range posters {
		wg.Go(func() {
			for n := range numbers {
				request := eventRequest(s.addr, n)
				sending(n)
				began := time.Now()
				err := l.post(i, request)
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	pace := time.NewTicker(time.Second / time.Duration(perSecond))
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		n++
		numbers <- n
	}
	close(numbers)
	wg.Wait()
	require.Len(b, took, n)
	return n, took
}

// arrivals are the times from sending events until pages have them.
type arrivals struct {
	missing sync.WaitGroup
	mu      sync.Mutex
	sent    map[int]time.Time
	took    []time.Duration
}

func newArrivals() *arrivals { return &arrivals{sent: map[int]time.Time{}} }

// expect is called before event n is sent.
func (a *arrivals) expect(n, pages int) {
	a.missing.Add(pages)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent[n] = time.Now()
}

// message is called with each message that a page receives.
func (a *arrivals) message(message []byte) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	forEachMarker(message, func(n int) {
		a.took = append(a.took, now.Sub(a.sent[n]))
		a.missing.Done()
	})
}
