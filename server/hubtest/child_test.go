package hubtest_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/app"
	"github.com/hookback/hookback/server/internal/storetest"
)

// A benchmark runs its server as a child process, this test binary once more, so
// that its CPU time is separate from that of the load generator.
const (
	roleVariable = "HOOKBACK_BENCH_SERVER"
	dbVariable   = "HOOKBACK_BENCH_DB"
	dataVariable = "HOOKBACK_BENCH_DATA"
	addrVariable = "HOOKBACK_BENCH_ADDR" // of a hub; default: a free port
	// busVariable is -bus of a hub.
	busVariable = "HOOKBACK_BENCH_BUS"
	// profileVariable names a file for the hub's CPU profile.
	profileVariable = "HOOKBACK_BENCH_PROFILE"
)

// runRole is the child: it prints its address and serves until stdin ends. A hub answers
// each line on stdin with its storage counts.
func runRole(role string) int {
	switch role { // these don't wait for stdin's end
	case "agent":
		return exitCode(runAgent(context.Background()))
	case "answerer":
		return exitCode(runAnswerer(context.Background()))
	case "appellant":
		return exitCode(runAppellant(os.Args[1], os.Args[2]))
	case "caller":
		return exitCode(runCaller(context.Background()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			printCounts()
		}
		cancel()
	}()
	var err error
	switch role {
	case "hub":
		if file := os.Getenv(profileVariable); file != "" {
			f, err := os.Create(file)
			if err == nil && pprof.StartCPUProfile(f) == nil {
				defer pprof.StopCPUProfile()
			}
		}
		err = serveHub(ctx)
	case "asker":
		err = runAsker(ctx, "")
	case "hook":
		err = runAsker(ctx, "claude-code")
	case "floor":
		err = serveFloor(ctx)
	default:
		err = fmt.Errorf("no such server: %s", role)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runCaller is a child process that prints the status of each request it makes.
func runCaller(ctx context.Context) error {
	hub := os.Getenv(hubVariable)
	for _, call := range os.Args[1:] {
		method, path, _ := strings.Cut(call, " ")
		body := `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{},"permission":true}`
		req, err := http.NewRequestWithContext(ctx, method, hub+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		fmt.Print(res.StatusCode, " ")
	}
	return nil
}

func serveHub(ctx context.Context) error {
	if err := countStorage(); err != nil {
		return err
	}
	bus := os.Getenv(busVariable)
	if !strings.HasPrefix(os.Getenv(dbVariable), "postgres://") {
		bus = ""
	}
	a, err := app.New(ctx, app.Config{
		Addr: cmp.Or(os.Getenv(addrVariable), "127.0.0.1:0"), Socket: "off", DB: os.Getenv(dbVariable), DataDir: os.Getenv(dataVariable), LogLevel: slog.LevelWarn, Stderr: os.Stderr,
		Retention: -1, RetentionSize: -1, Bus: bus,
	})
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimPrefix(a.URL(), "http://"))
	return a.Run(ctx)
}

func serveFiber(ctx context.Context, routes func(*fiber.App)) error {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 8 << 20})
	routes(app)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	context.AfterFunc(ctx, func() { _ = app.ShutdownWithTimeout(time.Second) })
	return app.Listener(ln)
}

// serverProcess is a running server.
type serverProcess struct {
	role string
	addr string
	pid  int
	stop func() // may be called again

	counts func() (storageUse, error) // of a hub
}

// storageUse counts what a hub does with its database.
type storageUse struct{ syncs, pages, statements, rows int64 }

// startServer starts a server of this test binary: "hub" or "floor", or the reference server.
func startServer(b *testing.B, role string) *serverProcess {
	b.Helper()
	if role == "reference" {
		return startReference(b)
	}
	return startServerOn(b, role, filepath.Join(b.TempDir(), "hub.db"))
}

// startServerOn starts a server of this test binary. A hub uses the database.
func startServerOn(b testing.TB, role, database string, env ...string) *serverProcess {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), env...), roleVariable+"="+role, dbVariable+"="+database, dataVariable+"="+storetest.DataDir(database))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	lines := bufio.NewReader(stdout)
	addr, err := lines.ReadString('\n')
	require.NoError(b, err)
	stop := sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	b.Cleanup(stop)
	counts := func() (u storageUse, err error) {
		if role != "hub" {
			return u, nil
		}
		if _, err = fmt.Fprintln(stdin); err == nil {
			_, err = fmt.Fscanln(lines, &u.syncs, &u.pages, &u.statements, &u.rows)
		}
		return u, err
	}
	return &serverProcess{role: role, addr: strings.TrimSpace(addr), pid: cmd.Process.Pid, stop: stop, counts: counts}
}

// clockTick is the unit of CPU times in /proc.
const clockTick = 10 * time.Millisecond

// cpu is the time the server has used, user and system.
func (c *serverProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	if err != nil {
		b.Skip("CPU times come from /proc")
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	require.NoError(b, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(b, err)
	return time.Duration(user+system) * clockTick
}

// waitUntilIdle waits until the server uses almost no CPU time, so that what it does after its
// start and in the background is not measured.
func (c *serverProcess) waitUntilIdle(b *testing.B) {
	b.Helper()
	for reported := time.Now(); ; {
		before := c.cpu(b)
		<-time.After(time.Second)
		if c.cpu(b)-before <= 3*clockTick {
			return
		}
		if time.Since(reported) > progressInterval {
			fmt.Fprintln(os.Stderr, "the server still works in the background")
			reported = time.Now()
		}
	}
}

// memory is the server's resident memory in bytes.
func (c *serverProcess) memory(b *testing.B) int64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.pid))
	require.NoError(b, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(b, err)
	return pages * int64(os.Getpagesize())
}
