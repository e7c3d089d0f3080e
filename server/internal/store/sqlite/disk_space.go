package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
)

// Disk is the free and total space of a file system, in bytes.
type Disk struct{ Free, Total int64 }

// DiskMeter measures the file system of a folder. Tests replace it.
type DiskMeter interface {
	Measure(dir string) (Disk, error)
}

// systemDisk is the DiskMeter of this system.
type systemDisk struct{}

// measureInterval is the maximum age of a measurement. It also bounds how long plain
// events are refused after space was freed.
const measureInterval = 250 * time.Millisecond

// Plain events are refused below minFreeBytes of free space, at most a twentieth of the disk. Below warnFreeBytes, at most
// a tenth, a warning is logged.
const minFreeBytes, warnFreeBytes = 128 << 20, 512 << 20

// diskSpace monitors free disk space. On a nearly full disk it refuses plain events (those
// without a question) and leaves the rest to questions and answers. On a full disk it deletes a reserve file,
// because SQLite can't even delete rows then. It measures on writes, not on a timer.
type diskSpace struct {
	dir, reserveFile      string
	reserveBytes          int64 // target size of the reserve file
	disk                  DiskMeter
	clock                 func() time.Time
	log                   *slog.Logger
	low                   atomic.Bool
	left                  atomic.Int64 // bytes for questions and answers, with the reserve
	refused               atomic.Int64 // plain events
	measuredAt            atomic.Int64 // Unix nanoseconds
	mu                    sync.Mutex   // guards the reserve file and the fields below
	lowWarned, hasReserve bool
	failure               string // the last one that was logged; empty: it is over
	refusedBefore         int64  // refused when the disk became low
}

func newDiskSpace(file string, cfg *Config) *diskSpace {
	s := &diskSpace{
		dir: filepath.Dir(file), reserveFile: file + reserveSuffix, reserveBytes: max(cfg.ReserveFileBytes, 0),
		disk: cfg.Disk, clock: cfg.Clock, log: cfg.Log,
	}
	info, err := os.Lstat(s.reserveFile)
	s.hasReserve = err == nil && info.Mode().IsRegular() && info.Size() > 0
	s.measure()
	return s
}

// requireRoom returns errDiskFull if plain events are refused. It measures the disk if
// the last measurement is too old.
func (s *diskSpace) requireRoom() error {
	if age := s.clock().UnixNano() - s.measuredAt.Load(); age > int64(measureInterval) || age < 0 {
		s.measure()
	}
	if s.low.Load() {
		return s.refusal()
	}
	return nil
}

// refusal returns the error of a plain event on a nearly full disk.
func (s *diskSpace) refusal() error {
	s.refused.Add(1)
	return &schema.HintError{
		Err: schema.ErrFull,
		Hint: fmt.Sprintf("This event was not stored. Questions and answers are still stored, as long as the last %d MiB suffice. "+
			"Free space on the disk that holds the hub's database; events are accepted again within a second.", s.left.Load()>>20),
	}
}

// measure updates the disk state and recreates the reserve file once there is space.
func (s *diskSpace) measure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measuredAt.Store(s.clock().UnixNano())
	d, err := s.disk.Measure(s.dir)
	if err != nil {
		s.warnOnceLocked(measurementFailed, err)
		return
	}
	if s.failure == measurementFailed {
		s.failure = ""
	}
	// Small file systems get small reserves.
	minFree, reserve := min(minFreeBytes, d.Total/20), min(s.reserveBytes, d.Total/8)
	if !s.hasReserve && reserve > 0 && d.Free >= minFree+reserve && s.createReserveLocked(reserve) {
		d.Free -= reserve
	}
	need, left := minFree, d.Free
	if s.hasReserve {
		left += reserve
	} else {
		need += reserve
	}
	s.left.Store(left)
	s.setLowLocked(d.Free < need, d.Free)
	if warn := d.Free < warnFreeBytes && d.Free < d.Total/10; warn != s.lowWarned {
		s.lowWarned = warn
		if warn {
			s.log.Warn("disk space is running low", "free_bytes", d.Free)
		}
	}
}

func (s *diskSpace) setLowLocked(low bool, free int64) {
	if s.low.Swap(low) == low {
		return
	}
	if low {
		s.refusedBefore = s.refused.Load()
		s.log.Error("disk nearly full: refusing plain events, still storing questions and answers", "free_bytes", free, "left_bytes", s.left.Load())
	} else {
		s.log.Info("disk space available again: accepting all events", "free_bytes", free, "refused", s.refused.Load()-s.refusedBefore)
	}
}

const measurementFailed = "disk measurement failed"

// warnOnceLocked logs a failure that is repeated with every measurement, until another one
// occurs.
func (s *diskSpace) warnOnceLocked(message string, err error) {
	if s.failure != message {
		s.failure = message
		s.log.Warn(message, "dir", s.dir, "err", err)
	}
}

// full refuses plain events until there is space again. If the reserve is needed, it deletes that file: then plain events
// are refused until there is space to recreate it.
func (s *diskSpace) full(needsReserve bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasReserve {
		s.left.Store(fileSize(s.reserveFile))
	}
	s.setLowLocked(true, 0)
	s.measuredAt.Store(s.clock().UnixNano())
	if !s.hasReserve || !needsReserve {
		return
	}
	s.hasReserve = false
	if err := os.Remove(s.reserveFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("reserve file deletion failed", "file", s.reserveFile, "err", err)
		return
	}
	s.log.Warn("disk full: deleted the reserve file", "file", s.reserveFile)
}

func (s *diskSpace) createReserveLocked(size int64) bool {
	f, err := os.OpenFile(s.reserveFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(preallocate(f, size), f.Close())
	}
	if err != nil {
		_ = os.Remove(s.reserveFile)
		s.warnOnceLocked("reserve file creation failed", err)
		return false
	}
	s.hasReserve, s.failure = true, ""
	return true
}

// writeZeros fills f with size zero bytes, for file systems without preallocation.
func writeZeros(f *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
