package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketOf finds the client's end of a connection, from remote to local. It queries the
// kernel by sock_diag. If that is not available (in a sandbox), it reads /proc/net/tcp.
func socketOf(remote, local netip.AddrPort) (socket, bool) {
	s, err := queryKernel(remote, local)
	if err != nil {
		s, err = readTable(remote, local)
	}
	return s, err == nil && s.inode != 0 // a closed socket has no inode
}

// Layout of a sock_diag request and response, see linux/inet_diag.h.
const (
	headerLen   = 16
	requestLen  = headerLen + 56
	responseLen = headerLen + 72
	uidAt       = headerLen + 64
	inodeAt     = headerLen + 68
	sockDiag    = 20 // SOCK_DIAG_BY_FAMILY
	anyCookie   = ^uint32(0)
)

func queryKernel(remote, local netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return socket{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	// The response is ready when Sendto returns. The timeout is for kernels that differ.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return socket{}, err
	}
	if err := unix.Sendto(fd, diagRequest(remote, local), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, err
	}
	var buf [4096]byte
	n, _, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return socket{}, err
	}
	ne := binary.NativeEndian
	if n < headerLen || ne.Uint16(buf[4:]) != sockDiag || n < responseLen {
		return socket{}, unix.ENOENT
	}
	return socket{inode: uint64(ne.Uint32(buf[inodeAt:])), uid: ne.Uint32(buf[uidAt:])}, nil
}

func diagRequest(remote, local netip.AddrPort) []byte {
	b := make([]byte, requestLen)
	ne, be := binary.NativeEndian, binary.BigEndian
	ne.PutUint32(b, requestLen)
	ne.PutUint16(b[4:], sockDiag)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	q := b[headerLen:]
	q[0] = unix.AF_INET6
	if remote.Addr().Is4() {
		q[0] = unix.AF_INET
	}
	q[1] = unix.IPPROTO_TCP
	ne.PutUint32(q[4:], ^uint32(0)) // all states
	be.PutUint16(q[8:], remote.Port())
	be.PutUint16(q[10:], local.Port())
	copy(q[12:28], remote.Addr().AsSlice())
	copy(q[28:44], local.Addr().AsSlice())
	ne.PutUint32(q[48:], anyCookie)
	ne.PutUint32(q[52:], anyCookie)
	return b
}

// readTable searches /proc/net/tcp and /proc/net/tcp6. IPv6 sockets are in the latter even
// if they carry IPv4.
func readTable(remote, local netip.AddrPort) (socket, error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		s, ok := scanTable(bufio.NewScanner(f), remote, local)
		_ = f.Close()
		if ok {
			return s, nil
		}
	}
	return socket{}, unix.ENOENT
}

func scanTable(lines *bufio.Scanner, remote, local netip.AddrPort) (socket, bool) {
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			continue
		}
		from, ok1 := tableAddr(f[1])
		to, ok2 := tableAddr(f[2])
		if !ok1 || !ok2 || from != remote || to != local {
			continue
		}
		uid, err1 := strconv.ParseUint(f[7], 10, 32)
		inode, err2 := strconv.ParseUint(f[9], 10, 64)
		return socket{inode: inode, uid: uint32(uid)}, err1 == nil && err2 == nil
	}
	return socket{}, false
}

// tableAddr parses an address such as 0100007F:1F90, which consists of 32-bit words in
// host byte order.
func tableAddr(s string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	p, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	var fixed bytes.Buffer
	for i := 0; i < len(raw); i += 4 {
		var word [4]byte
		binary.BigEndian.PutUint32(word[:], binary.NativeEndian.Uint32(raw[i:]))
		fixed.Write(word[:])
	}
	addr, ok := netip.AddrFromSlice(fixed.Bytes())
	return netip.AddrPortFrom(addr.Unmap(), uint16(p)), ok
}
