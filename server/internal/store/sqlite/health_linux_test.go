package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// swapDescriptors replaces every descriptor that SQLite has on file by one on other, opened
// with flags, so that its system calls fail as they do on a defective disk. restore undoes it.
func swapDescriptors(t *testing.T, file, other string, flags int) (restore func()) {
	t.Helper()
	fd, err := unix.Open(other, flags|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	originals := map[int]int{}
	for _, n := range descriptorsOf(t, file) {
		if n == fd {
			continue
		}
		if originals[n], err = unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.Dup3(fd, n, unix.O_CLOEXEC)
		}
		require.NoError(t, err)
	}
	require.NotEmpty(t, originals)
	return sync.OnceFunc(func() {
		for n, original := range originals {
			require.NoError(t, unix.Dup3(original, n, unix.O_CLOEXEC))
			require.NoError(t, unix.Close(original))
		}
	})
}

func descriptorsOf(t *testing.T, file string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	var found []int
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == file {
			n, err := strconv.Atoi(filepath.Base(link))
			require.NoError(t, err)
			found = append(found, n)
		}
	}
	return found
}

// A write error makes the store report a fault until a write succeeds. It is logged once.
func TestHealth_WriteErrorIsAFaultUntilAWriteSucceeds(t *testing.T) {
	t.Parallel()
	log := new(messages)
	b, ctx := newTestStore(t, log.config), t.Context()
	acked := b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID
	restore := swapDescriptors(t, b.file+"-wal", b.file+"-wal", unix.O_RDONLY)
	defer restore()
	for range 3 {
		_, err := b.Append(ctx, conformance.NewQuestionDraft("s", time.Time{}))
		require.ErrorIs(t, err, schema.ErrStorage)
		require.Contains(t, schema.ProblemOf(err).Hint, "disk reports an error")
	}
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.Contains(t, stats.Fault, "the disk reports an error")
	require.GreaterOrEqual(t, stats.RefusedFault, int64(3))
	_, _, err = b.Event(ctx, acked)
	require.NoError(t, err, "reads continue")

	restore()
	// Nothing is sent to the hub: asking for its state finds out that it can write again.
	require.Eventually(t, func() bool {
		b.Clock.Advance(2 * time.Second)
		stats, err := b.Stats(ctx)
		return err == nil && stats.Fault == ""
	}, 30*time.Second, time.Millisecond)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.Equal(t, []int{1, 1}, []int{log.count("database fault"), log.count("database fault over")})
	conformance.RequireDense(t, b.engine)
}

// A commit that writes nothing does not end a fault.
func TestHealth_EmptyCommitDoesNotEndAFault(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), t.Context()
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	defer swapDescriptors(t, b.file+"-wal", b.file+"-wal", unix.O_RDONLY)()
	_, err := b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStorage)
	require.ErrorIs(t, b.do(t, doNothing), schema.ErrStorage)
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, stats.Fault)
}

// After a failed fsync the store writes nothing more and asks for the end of the process,
// which leaves the files unchanged. A new process has everything that was acknowledged.
func TestHealth_FailedFsyncEndsTheProcess(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	acked := b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID
	ended := make(chan error, 1)
	go func() { ended <- b.Wait(context.Background()) }()
	restore := swapDescriptors(t, b.file+"-wal", "/dev/null", unix.O_RDWR) // accepts writes, not fsync
	_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStopping)
	restore()
	err = <-ended
	require.ErrorContains(t, err, "fsync")
	require.ErrorContains(t, err, b.file)
	require.ErrorContains(t, err, "start the hub again")
	_, err = b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStopping, "although the disk works again")

	before := fileSize(b.file + "-wal")
	db, readers := b.writeDB, b.engine.readers.db
	require.NoError(t, b.Close())
	require.Equal(t, before, fileSize(b.file+"-wal"), "closing writes nothing")
	copied := filepath.Join(t.TempDir(), "hub.db")
	for _, suffix := range []string{"", "-wal", ".key"} {
		content, err := os.ReadFile(b.file + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied+suffix, content, 0o600))
	}
	require.NoError(t, db.Close())
	require.NoError(t, readers.Close())
	b.cfg.Path = copied
	b.Open(t)
	_, _, err = b.Event(t.Context(), acked)
	require.NoError(t, err)
	require.NoError(t, b.Wait(canceled(t)), "the new process has no fault")
}

// forceCheckpoint commits a group after which a checkpoint is due, and waits for the checkpoint.
func (b *testStore) forceCheckpoint(t *testing.T) {
	t.Helper()
	require.NoError(t, b.do(t, func(*tables.Work) error {
		b.writer.walPages = checkpointPages
		return nil
	}))
	_ = b.do(t, doNothing) // runs after the checkpoint
}

// failSyncs makes fsync fail on the calling thread until the thread ends, which the writer has
// for itself.
func failSyncs() error {
	const (
		systemCall = 0 // offset in struct seccomp_data
		ld, jeq    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret        = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: ld, K: systemCall},
		{Code: jeq, K: unix.SYS_FSYNC, Jt: 2},
		{Code: jeq, K: unix.SYS_FDATASYNC, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// SQLite ignores errors of automatic checkpoints. While they fail, commits succeed and the
// write-ahead log grows.
func TestHealth_FailedCheckpointIsAFaultUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), t.Context()
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	restore := swapDescriptors(t, b.file, b.file, unix.O_RDONLY)
	defer restore()
	b.forceCheckpoint(t)
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.Contains(t, stats.Fault, "the log grows")
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	stats, err = b.Stats(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, stats.Fault, "a commit does not end it")
	restore()
	b.forceCheckpoint(t)
	stats, err = b.Stats(ctx)
	require.NoError(t, err)
	require.Empty(t, stats.Fault)
}

func TestHealth_FailedFsyncOfCheckpointEndsTheProcess(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	acked := b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID
	if err := b.do(t, func(*tables.Work) error { return failSyncs() }); err != nil {
		t.Skipf("this system does not allow seccomp: %v", err)
	}
	b.forceCheckpoint(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.ErrorContains(t, b.Wait(ctx), "fsync failed")
	_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStopping)
	db, readers := b.writeDB, b.engine.readers.db
	require.NoError(t, b.Close())
	require.NoError(t, db.Close())
	require.NoError(t, readers.Close())
	b.Open(t)
	_, _, err = b.Event(t.Context(), acked)
	require.NoError(t, err)
}

// The write-ahead log is merged about every checkpointPages pages, so it stays short.
func TestWriter_KeepsTheLogShort(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	d := conformance.NewDraft("app", "s", "Stop", "")
	d.Payload = []byte(`{"x":"` + strings.Repeat("x", 200<<10) + `"}`)
	for range 200 { // 50 pages each
		b.MustAppend(t, d)
	}
	require.Less(t, fileSize(b.file+"-wal"), int64(2*checkpointPages*4096))
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
