package hubtest_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/storetest"
)

// deployment is a way to run hubs, and its use of time so far.
type deployment struct {
	hubs     []*serverProcess
	loads    []*loadGenerator
	postgres int // id of the database server; 0: none
	took     time.Duration
	cpu      time.Duration
}

// startDeployment starts hubs with one new database. posters are shared among them.
func startDeployment(b *testing.B, database string, hubs, posters int) *deployment {
	b.Helper()
	d := &deployment{postgres: postgresID(b, database)}
	for range hubs {
		s := startServerOn(b, "hub", database)
		d.hubs = append(d.hubs, s)
		d.loads = append(d.loads, newLoad(b, s.addr, max(1, posters/hubs)))
	}
	d.post(b, 500) // warm
	for _, s := range d.hubs {
		s.waitUntilIdle(b)
	}
	return d
}

// postgresID returns the id of the server of a database.
func postgresID(b *testing.B, database string) int {
	b.Helper()
	u, err := url.Parse(database)
	require.NoError(b, err)
	dir := u.Query().Get("host")
	if dir == "" {
		return 0
	}
	file, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(b, err)
	id, err := strconv.Atoi(strings.Fields(string(file))[0])
	require.NoError(b, err)
	return id
}

// post posts n events, evenly to the hubs.
func (d *deployment) post(b *testing.B, n int) {
	b.Helper()
	var wg sync.WaitGroup
	for _, l := range d.loads {
		wg.Go(func() { l.run(b, n/len(d.loads)) })
	}
	wg.Wait()
}

// turn is post, measured.
func (d *deployment) turn(b *testing.B, n int) {
	b.Helper()
	before, began := d.used(b), time.Now()
	d.post(b, n)
	d.took += time.Since(began)
	d.cpu += d.used(b) - before
}

// used is the CPU time of the hubs, and of the database server with its processes.
func (d *deployment) used(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, s := range d.hubs {
		sum += s.cpu(b)
	}
	if d.postgres == 0 {
		return sum
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(b, err)
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		head, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		times := fields[11:13]
		switch strconv.Itoa(d.postgres) {
		case fields[1]:
		case strings.Fields(head)[0]:
			times = fields[11:15] // with the times of processes that have ended
		default:
			continue
		}
		for _, text := range times {
			ticks, err := strconv.Atoi(text)
			require.NoError(b, err)
			sum += time.Duration(ticks) * clockTick
		}
	}
	return sum
}

// BenchmarkScale posts events as fast as they are taken to a hub on SQLite, one on PostgreSQL, and two on
// one PostgreSQL database, by turns and on one disk. The posters of two hubs are as many in total. Run it
// with -benchtime 10x.
func BenchmarkScale(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", os.TempDir())
	b.Setenv("HOOKBACK_TEST_DB", "postgres")
	b.Setenv(busVariable, "notify")
	for _, posters := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("posters=", posters), func(b *testing.B) {
			sqlite := startDeployment(b, storetest.NewSQLiteFile(b), 1, posters)
			one := startDeployment(b, storetest.NewFile(b), 1, posters)
			all := []*deployment{sqlite, one}
			if posters > 1 {
				all = append(all, startDeployment(b, storetest.NewFile(b), 2, posters))
			}
			events, n := min(1000, 200*posters), 0.0
			for b.Loop() {
				for _, d := range all {
					d.turn(b, events)
				}
				n += float64(events)
			}
			ratio := func(a, b time.Duration) float64 { return a.Seconds() / max(b, clockTick).Seconds() }
			b.ReportMetric(n/one.took.Seconds(), "events/s")
			b.ReportMetric(ratio(sqlite.took, one.took), "pg/sqlite")
			b.ReportMetric(ratio(one.cpu, sqlite.cpu), "pg/sqlite-cpu")
			b.ReportMetric(float64(one.cpu.Microseconds())/n, "cpu-µs/event")
			if posters > 1 {
				b.ReportMetric(ratio(one.took, all[2].took), "two/one")
				b.ReportMetric(ratio(all[2].cpu, one.cpu), "two/one-cpu")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkOtherHub measures the time from the POST of an event to one hub until a page of another hub
// has it, while both hubs get events at a rate. Run it with -benchtime 3000x.
func BenchmarkOtherHub(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", os.TempDir())
	b.Setenv("HOOKBACK_TEST_DB", "postgres")
	for _, bus := range []string{"notify", "none"} {
		for _, rate := range []int{100, 1000} {
			b.Run(fmt.Sprintf("bus=%s/rate=%d", bus, rate), func(b *testing.B) {
				b.Setenv(busVariable, bus)
				d := startDeployment(b, storetest.NewFile(b), 2, 8)
				a := newArrivals()
				watchStream(b, d.hubs[1].addr, "?v=2", a.message)
				stop, done := make(chan struct{}), make(chan struct{})
				go func() { // the load of the other hub, without numbers that the page looks for
					defer close(done)
					pace := time.NewTicker(time.Second / time.Duration(rate))
					defer pace.Stop()
					request := []byte(strings.ReplaceAll(string(eventRequest(d.hubs[1].addr, 1)), `"payload":{"n":`, `"payload":{"m":`))
					for i := 0; ; i++ {
						select {
						case <-pace.C:
							if err := d.loads[1].post(i%len(d.loads[1].conns), request); err != nil {
								b.Error(err)
								return
							}
						case <-stop:
							return
						}
					}
				}()
				began := time.Now()
				n, _ := postPaced(b, d.hubs[0], rate, func(n int) { a.expect(n, 1) })
				took := time.Since(began)
				a.missing.Wait()
				close(stop)
				<-done
				b.ReportMetric(float64(n)/took.Seconds(), "events/s")
				reportLatency(b, "page", a.took)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
