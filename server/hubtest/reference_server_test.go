package hubtest_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The reference server that hubs are compared with, if both variables are set: a checkout of
// disler/claude-code-hooks-multi-agent-observability, and the program bun, which runs it.
const (
	referenceVariable = "HOOKBACK_BENCH_REFERENCE"
	bunVariable       = "BUN"
	// durableVariable makes the reference server flush each commit, as the hub does.
	durableVariable = "HOOKBACK_BENCH_DURABLE"
)

// loopbackOnly is loaded before the reference server, which listens on all interfaces and
// has no option for it.
const loopbackOnly = `const serve = Bun.serve;
Bun.serve = (options) => serve({ ...options, hostname: "127.0.0.1" });
`

// comparedServers returns the hub, others of this test binary, and the reference server if it is available.
func comparedServers(others ...string) []string {
	servers := append([]string{"hub"}, others...)
	if os.Getenv(referenceVariable) != "" {
		servers = append(servers, "reference")
	}
	return servers
}

// startReference runs the reference server. Its database is in its working directory, which
// is temporary.
func startReference(b *testing.B) *serverProcess {
	b.Helper()
	dir := b.TempDir()
	preload := filepath.Join(dir, "loopback.js")
	require.NoError(b, os.WriteFile(preload, []byte(loopbackOnly), 0o600))
	addr := freeAddress(b)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(b, err)

	source := filepath.Join(os.Getenv(referenceVariable), "apps/server/src")
	if os.Getenv(durableVariable) != "" {
		source = durableCopy(b, source, dir)
	}
	cmd := exec.Command(os.Getenv(bunVariable), "--preload", preload, filepath.Join(source, "index.ts"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SERVER_PORT="+port)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b.Cleanup(stop)
	require.Eventually(b, func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}, waitLimit, 10*time.Millisecond, "the reference server does not listen")
	requireLoopback(b, cmd.Process.Pid, port)
	none := func() (storageUse, error) { return storageUse{}, nil }
	return &serverProcess{role: "reference", addr: addr, pid: cmd.Process.Pid, stop: stop, counts: none}
}

// durableCopy copies the source of the reference server, which does not flush commits to the disk, and changes the
// pragma for that.
func durableCopy(b *testing.B, source, dir string) string {
	b.Helper()
	to := filepath.Join(dir, "src")
	require.NoError(b, os.CopyFS(to, os.DirFS(source)))
	file := filepath.Join(to, "db.ts")
	code, err := os.ReadFile(file)
	require.NoError(b, err)
	const relaxed, flushed = "PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"
	require.Equal(b, 1, strings.Count(string(code), relaxed), "%s no longer sets the pragma", file)
	require.NoError(b, os.WriteFile(file, []byte(strings.Replace(string(code), relaxed, flushed, 1)), 0o600))
	return to
}

// freeAddress returns a loopback address that no server listens on.
func freeAddress(b *testing.B) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// requireLoopback fails if a socket of any interface listens on port.
func requireLoopback(b *testing.B, pid int, port string) {
	b.Helper()
	var number int
	_, err := fmt.Sscan(port, &number)
	require.NoError(b, err)
	for _, file := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			b.Skip("listening sockets come from /proc")
		}
		for _, any := range []string{strings.Repeat("0", 8), strings.Repeat("0", 32)} {
			require.NotContains(b, string(table), fmt.Sprintf(" %s:%04X %s:0000 0A", any, number, any), "the reference server listens on all interfaces")
		}
	}
}
