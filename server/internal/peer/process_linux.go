package peer

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// socket is the kernel's record of one end of a connection.
type socket struct {
	inode uint64
	uid   uint32
}

// Sizes of the cache. Scanning all processes for a socket is slow, so sockets are cached
// with their owners. So are the processes that owned one recently, because busy clients
// open more.
const (
	recentProcesses = 16
	recentSockets   = 256
)

// socketCache caches the owners of sockets.
type socketCache struct {
	mu      sync.Mutex
	recent  []ProcessRef        // most recent first
	sockets map[uint64]*Process // inode → owner, immutable
}

var sharedCache = socketCache{sockets: map[uint64]*Process{}}

func processOf(remote, local netip.AddrPort) (*Process, bool) {
	s, ok := socketOf(remote, local)
	if !ok {
		return nil, false
	}
	return sharedCache.find(s)
}

func ownerOf(remote, local netip.AddrPort) (uid uint32, ok bool) {
	s, ok := socketOf(remote, local)
	return s.uid, ok
}

func (f *socketCache) find(s socket) (*Process, bool) {
	f.mu.Lock()
	cached := f.sockets[s.inode]
	recent := slices.Clone(f.recent)
	f.mu.Unlock()
	if cached != nil && isAlive(cached.Chain[0]) {
		return cached, true
	}
	want := fmt.Sprintf("socket:[%d]", s.inode)
	var pid int
	if i := slices.IndexFunc(recent, func(l ProcessRef) bool { return isAlive(l) && hasSocket(l.PID, want) }); i >= 0 {
		pid = recent[i].PID
	} else if pid = scanNow(s.inode); pid == 0 {
		return nil, false
	}
	p, ok := describeProcess(originalOwner(pid, want))
	if ok {
		f.remember(s, p)
	}
	return p, ok
}

func (f *socketCache) remember(s socket, p *Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.sockets) >= recentSockets {
		clear(f.sockets)
	}
	f.sockets[s.inode] = p
	link := p.Chain[0]
	f.recent = slices.DeleteFunc(f.recent, func(l ProcessRef) bool { return l.PID == link.PID })
	f.recent = slices.Insert(f.recent, 0, link)
	f.recent = f.recent[:min(len(f.recent), recentProcesses)]
}

// originalOwner returns the ancestor of pid that opened the socket and still has it.
// Children inherit sockets, at least until they exec.
func originalOwner(pid int, want string) int {
	for range maxAncestors {
		st, ok := readStat(pid)
		if !ok || !hasSocket(st.parent, want) {
			break
		}
		pid = st.parent
	}
	return pid
}

// hasSocket reports whether a process has the socket open.
func hasSocket(pid int, want string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	names, err := listDir(dir)
	if err != nil {
		return false
	}
	var buf [64]byte
	for _, name := range names {
		n, err := syscall.Readlink(dir+"/"+name, buf[:])
		if err == nil && string(buf[:n]) == want {
			return true
		}
	}
	return false
}

// stat holds fields of /proc/PID/stat.
type stat struct {
	comm    string
	parent  int
	session int    // PID of the session leader
	tty     int    // controlling terminal; 0: none
	start   uint64 // clock ticks after boot
}

func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')') // the name may contain parentheses
	if open < 0 || end < open {
		return stat{}, false
	}
	fields := strings.Fields(string(b[end+1:])) // starts at the third field, see proc(5)
	if len(fields) < 20 {
		return stat{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	start, err2 := strconv.ParseUint(fields[19], 10, 64)
	session, err3 := strconv.Atoi(fields[3])
	tty, err4 := strconv.Atoi(fields[4])
	st := stat{comm: string(b[open+1 : end]), parent: parent, session: session, tty: tty, start: start}
	return st, errors.Join(err1, err2, err3, err4) == nil
}

func isAlive(l ProcessRef) bool {
	st, ok := readStat(l.PID)
	return ok && st.start == l.Start
}

func refOf(pid int) ProcessRef {
	st, _ := readStat(pid)
	return ProcessRef{PID: pid, Start: st.start}
}

func describe(ref ProcessRef) (*Process, bool) {
	p, ok := describeProcess(ref.PID)
	return p, ok && p.Chain[0] == ref
}

// maxAncestors limits the length of a chain. Real ones rarely exceed ten.
const maxAncestors = 64

// describeProcess returns a process with its ancestors.
func describeProcess(of int) (*Process, bool) {
	p := &Process{Boot: bootID()}
	p.PID = of
	for pid := of; pid > 0 && len(p.Chain) < maxAncestors; {
		st, ok := readStat(pid)
		if !ok {
			break
		}
		if exe := executable(pid, st); pid == of {
			p.Exe = exe
		} else {
			p.Ancestors = append(p.Ancestors, fmt.Sprintf("%s (%d)", exe, pid))
		}
		p.Chain = append(p.Chain, ProcessRef{PID: pid, Start: st.start})
		pid = st.parent
	}
	return p, len(p.Chain) > 0
}

// executable returns the path of a process's executable, or its name if the path is not
// readable.
func executable(pid int, st stat) string {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return st.comm
	}
	return strings.TrimSuffix(exe, " (deleted)")
}

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// shells run commands on behalf of their parent. So does timeout.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ash": true, "busybox": true, "zsh": true, "ksh": true, "mksh": true,
	"fish": true, "csh": true, "tcsh": true, "pwsh": true, "timeout": true,
}

func parentCommand(p *Process) (*Process, bool) {
	for i := 1; i < len(p.Chain) && i <= len(p.Ancestors); i++ {
		pid := p.Chain[i].PID
		st, ok := readStat(pid)
		if !ok || st.start != p.Chain[i].Start || pid == 1 {
			return nil, false // it has exited, or pid 1 adopted the process
		}
		exe := p.Ancestors[i-1]
		exe = exe[:strings.LastIndex(exe, " (")]
		switch {
		case path.Base(exe) == "systemd":
			return nil, false // systemd adopts orphans
		case !shells[path.Base(exe)]:
			up := &Process{Chain: p.Chain[i:], Boot: p.Boot}
			up.PID, up.Exe, up.Ancestors = pid, exe, p.Ancestors[i:]
			return up, true
		case st.session == pid && st.tty != 0 || !runsCommand(pid):
			return nil, false // an interactive shell
		}
	}
	return nil, false
}

// runsCommand reports whether a shell was started with a command line or a script.
func runsCommand(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	args := strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")[1:]
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--rcfile" || arg == "--init-file" || arg == "-o":
			i++ // skip its value
		case !strings.HasPrefix(arg, "-"):
			return true // a script
		case !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c"):
			return true
		}
	}
	return false
}
