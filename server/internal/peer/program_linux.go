package peer

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// scanPause is the shortest time between two scans of all processes, and scanShare the longest part
// of the time that scans take.
const (
	scanPause = 20 * time.Millisecond
	scanShare = 5
)

// programScanner finds the programs of many connections with one scan of all processes. A flood of
// connections therefore costs a bounded part of the CPU.
type programScanner struct {
	mu      sync.Mutex
	waiting map[uint64][]chan ProcessRef // inode → callers
	running bool
}

var sharedScanner = programScanner{waiting: map[uint64][]chan ProcessRef{}}

func programOf(remote, local netip.AddrPort) (ProcessRef, bool) {
	s, ok := socketOf(remote, local)
	if !ok {
		return ProcessRef{}, false
	}
	found := <-sharedScanner.find(s.inode)
	return found, found.PID != 0
}

// find returns a channel that receives the program with the socket, or the zero value.
func (p *programScanner) find(inode uint64) <-chan ProcessRef {
	answer := make(chan ProcessRef, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[inode] = append(p.waiting[inode], answer)
	if !p.running {
		p.running = true
		go p.run()
	}
	return answer
}

// run scans for those who wait, and again after a pause, until nobody waits.
func (p *programScanner) run() {
	p.mu.Lock()
	batch := p.waiting
	p.waiting = map[uint64][]chan ProcessRef{}
	p.running = len(batch) > 0
	p.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	start := time.Now()
	scanSockets(batch)
	time.AfterFunc(max(scanPause, (scanShare-1)*time.Since(start)), p.run)
}

// scanNow returns the PID of the program with the socket, or 0. It does not wait for the next scan of
// sharedScanner: the program may end soon.
func scanNow(inode uint64) int {
	answer := make(chan ProcessRef, 1)
	scanSockets(map[uint64][]chan ProcessRef{inode: {answer}})
	return (<-answer).PID
}

// scanSockets answers the callers of batch. It scans the newest processes first, which most clients are.
func scanSockets(batch map[uint64][]chan ProcessRef) {
	names, err := listDir("/proc")
	if err == nil {
		for _, name := range slices.Backward(names) {
			if pid, err := strconv.Atoi(name); err == nil && len(batch) > 0 {
				scanProcess(pid, batch)
			}
		}
	}
	for _, callers := range batch {
		for _, c := range callers {
			c <- ProcessRef{}
		}
	}
}

// scanProcess answers the callers whose sockets the process has open, and removes them from batch.
func scanProcess(pid int, batch map[uint64][]chan ProcessRef) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	names, err := listDir(dir)
	if err != nil {
		return // the process has ended or belongs to another account
	}
	var buf [64]byte
	for _, name := range names {
		n, err := syscall.Readlink(dir+"/"+name, buf[:])
		if err != nil {
			continue
		}
		text, isSocket := strings.CutPrefix(string(buf[:n]), "socket:[")
		inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
		callers := batch[inode]
		if !isSocket || err != nil || callers == nil {
			continue
		}
		delete(batch, inode)
		found := RefOf(pid)
		for _, c := range callers {
			c <- found
		}
	}
}

func listDir(path string) ([]string, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}
