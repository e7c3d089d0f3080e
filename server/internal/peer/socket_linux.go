package peer

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/prometheus/procfs"
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
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return socket{}, err
	}
	for _, read := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		lines, err := read()
		if err != nil {
			continue
		}
		for _, l := range lines {
			if tableAddr(l.LocalAddr, l.LocalPort) == remote && tableAddr(l.RemAddr, l.RemPort) == local {
				return socket{inode: l.Inode, uid: uint32(l.UID)}, nil
			}
		}
	}
	return socket{}, unix.ENOENT
}

func tableAddr(ip net.IP, port uint64) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port))
}
