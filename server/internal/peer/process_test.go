//go:build linux

package peer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// childEnv makes the test binary a client. It holds the addresses to connect to, one
// process each, and each process is started by the previous one.
const childEnv = "HOOKBACK_PEER_TEST_DIAL"

func TestMain(m *testing.M) {
	if targets := os.Getenv(childEnv); targets != "" {
		runChild(strings.Split(targets, ","))
		return
	}
	goleak.VerifyTestMain(m)
}

// runChild connects and stays until its standard input ends.
func runChild(targets []string) {
	conn, err := net.Dial("tcp", targets[0])
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, os.Getpid())
	if rest := targets[1:]; len(rest) > 0 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(rest, ","))
		cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startChain runs a chain of processes, each the parent of the next, and returns them as
// ProcessOf reports them.
func startChain(t *testing.T, network string, generations int) []*Process {
	t.Helper()
	ln, err := net.Listen(network, map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "tcp": ":0"}[network])
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	addr := ln.Addr().String()
	if network == "tcp" {
		addr = fmt.Sprintf("127.0.0.1:%d", ln.Addr().(*net.TCPAddr).Port)
	}

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"="+strings.TrimSuffix(strings.Repeat(addr+",", generations), ","))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })

	line := make([]*Process, 0, generations)
	for range generations {
		conn, err := ln.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		pid, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		p, ok := ProcessOf(endpoints(conn))
		require.True(t, ok, "not found")
		require.Equal(t, strings.TrimSpace(pid), fmt.Sprint(p.PID))
		line = append(line, p)
	}
	return line
}

func endpoints(conn net.Conn) (remote, local netip.AddrPort) {
	return conn.RemoteAddr().(*net.TCPAddr).AddrPort(), conn.LocalAddr().(*net.TCPAddr).AddrPort()
}

func TestProcessOf_FindsClient(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, network := range []string{"tcp4", "tcp6", "tcp"} {
		p := startChain(t, network, 1)[0]
		require.Equal(t, self, p.Exe)
		require.Equal(t, fmt.Sprintf("%s (%d)", self, os.Getpid()), p.Ancestors[0])
		require.Equal(t, os.Getpid(), p.Chain[1].PID)
	}
}

func TestIsDescendant(t *testing.T) {
	t.Parallel()
	family := startChain(t, "tcp4", 3)
	sibling := startChain(t, "tcp4", 1)[0]
	asker, child, grandchild := family[0], family[1], family[2]

	require.True(t, IsDescendant(asker, asker), "the same process")
	require.True(t, IsDescendant(child, asker))
	require.True(t, IsDescendant(grandchild, asker))
	require.False(t, IsDescendant(asker, child), "a parent is not a descendant")
	require.False(t, IsDescendant(sibling, asker), "they only share an ancestor")
	require.False(t, IsDescendant(nil, asker))
	require.False(t, IsDescendant(asker, &Process{}))

	b, err := json.Marshal(asker)
	require.NoError(t, err)
	var stored Process
	require.NoError(t, json.Unmarshal(b, &stored))
	require.Equal(t, *asker, stored)
	require.True(t, IsDescendant(grandchild, &stored))

	stored.Chain[0].Start++
	require.False(t, IsDescendant(grandchild, &stored), "the PID was reused")
	stored.Chain[0].Start--
	stored.Boot = "another"
	require.False(t, IsDescendant(grandchild, &stored), "the machine was rebooted")
}

// A child inherits its parent's sockets and has a higher PID.
func TestProcessOf_InheritedSocketBelongsToParent(t *testing.T) {
	t.Parallel()
	conn, client := connect(t)
	file, err := client.(*net.TCPConn).File()
	require.NoError(t, err)
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{file}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait(); _ = file.Close() })

	p, ok := ProcessOf(endpoints(conn))
	require.True(t, ok)
	require.Equal(t, os.Getpid(), p.PID)
}

func TestProcessOf_NotFound(t *testing.T) {
	t.Parallel()
	at := netip.MustParseAddrPort
	for _, c := range [][2]netip.AddrPort{
		{},
		{at("127.0.0.1:1"), {}},
		{at("127.0.0.1:1"), at("127.0.0.1:2")},
		{at("192.0.2.1:1"), at("127.0.0.1:2")},
		{at("[::1]:1"), at("[::1]:2")},
	} {
		_, ok := ProcessOf(c[0], c[1])
		require.False(t, ok)
	}
}

// After the client has closed its end, no process owns the socket.
func TestProcessOf_ClosedByClient(t *testing.T) {
	t.Parallel()
	conn, client := connect(t)
	require.NoError(t, client.Close())
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	_, ok := ProcessOf(endpoints(conn))
	require.False(t, ok)
}

// Without sock_diag, /proc/net/tcp must give the same result.
func TestReadTable_MatchesKernel(t *testing.T) {
	t.Parallel()
	conn, _ := connect(t)
	remote, local := endpoints(conn)
	fromKernel, err := queryKernel(remote, local)
	if err != nil {
		t.Skip("the kernel here has no sock_diag: ", err)
	}
	fromTable, err := readTable(remote, local)
	require.NoError(t, err)
	require.Equal(t, fromKernel, fromTable)
}

func connect(t testing.TB) (conn, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	client, err = net.Dial("tcp4", ln.Addr().String())
	require.NoError(t, err)
	conn, err = ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(); _ = client.Close() })
	return conn, client
}

func BenchmarkProcessOf(b *testing.B) {
	b.Run("same connection", func(b *testing.B) {
		conn, _ := connect(b)
		for b.Loop() {
			_, ok := ProcessOf(endpoints(conn))
			require.True(b, ok)
		}
	})
	b.Run("same process", func(b *testing.B) {
		conn, _ := connect(b)
		for b.Loop() {
			sharedCache.mu.Lock()
			clear(sharedCache.sockets)
			sharedCache.mu.Unlock()
			_, ok := ProcessOf(endpoints(conn))
			require.True(b, ok)
		}
	})
	b.Run("never seen", func(b *testing.B) {
		conn, _ := connect(b)
		for b.Loop() {
			sharedCache.mu.Lock()
			clear(sharedCache.sockets)
			sharedCache.recent = nil
			sharedCache.mu.Unlock()
			_, ok := ProcessOf(endpoints(conn))
			require.True(b, ok)
		}
	})
}

func TestOwner(t *testing.T) {
	t.Parallel()
	conn, client := connect(t)
	uid, ok := Owner(endpoints(conn))
	require.True(t, ok)
	require.EqualValues(t, os.Getuid(), uid)

	require.NoError(t, client.Close())
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	_, ok = Owner(endpoints(conn))
	require.False(t, ok, "a closed socket has no owner")
	_, ok = Owner(netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("127.0.0.1:2"))
	require.False(t, ok, "another machine")
}

// Some runtimes, such as Java's, connect to IPv4 addresses with IPv6 sockets.
func TestOwner_IPv4InIPv6(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	to := unix.SockaddrInet6{Port: ln.Addr().(*net.TCPAddr).Port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
	require.NoError(t, unix.Connect(fd, &to))
	conn, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	uid, ok := Owner(endpoints(conn))
	require.True(t, ok)
	require.EqualValues(t, os.Getuid(), uid)
}

func TestAccounts_Contains(t *testing.T) {
	t.Parallel()
	own, other := uint32(os.Geteuid()), uint32(54321)
	for accounts, want := range map[*Accounts]bool{{}: false, {All: true}: true, {UIDs: []uint32{other}}: true} {
		require.True(t, accounts.Contains(own))
		require.True(t, accounts.Contains(0), "root can read the database anyway")
		require.Equal(t, want, accounts.Contains(other))
	}
}
