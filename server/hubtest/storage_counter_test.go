package hubtest_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// storageCounts counts what SQLite does to its files in a benchmark's hub. It is a layer on
// SQLite's file system interface (VFS) in the child process, so the product has no counter
// in its hot path.
var storageCounts struct {
	syncs atomic.Int64 // fsync and fdatasync calls, including checkpoints
	pages atomic.Int64 // pages appended to the write-ahead log

	statements atomic.Int64 // SQL statements that began, with BEGIN, SAVEPOINT and COMMIT
	rows       atomic.Int64 // rows that they inserted, changed or deleted
}

// statementsVariable names a file for the text of each SQL statement of a benchmark's hub.
const statementsVariable = "HOOKBACK_BENCH_STATEMENTS"

var (
	statementsFile *os.File // nil: no text is kept
	changesBefore  sync.Map // sqlite3_total_changes of each connection, by its address
)

// walFrameHeader is the size of the header that SQLite writes before each page of the
// write-ahead log, in a separate call.
const walFrameHeader = 24

var (
	vfsLayer    sqlite3.Tsqlite3_vfs
	vfsOriginal uintptr

	layersMu sync.Mutex
	layers   = map[layerKey]*methodLayer{} // referenced by C objects, so that none may be freed
)

// methodLayer replaces the methods of an open file. SQLite finds the methods at its address.
type methodLayer struct {
	methods  sqlite3.Tsqlite3_io_methods
	original *sqlite3.Tsqlite3_io_methods
}

// layerKey is the counter of a layer for files with the methods at an address. SQLite has a table
// of methods for each way to lock.
type layerKey struct {
	original uintptr
	wal      bool
}

// countStorage starts counting. It must run before the first database is opened.
func countStorage() error {
	tls := libc.NewTLS()
	defer tls.Close()
	vfsOriginal = sqlite3.Xsqlite3_vfs_find(tls, 0)
	if vfsOriginal == 0 {
		return errors.New("SQLite has no default VFS")
	}
	vfsLayer = *at[sqlite3.Tsqlite3_vfs](vfsOriginal)
	vfsLayer.FxOpen = functionPointer(openCounted)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&vfsLayer)), 1); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register the VFS: SQLite error %d", rc)
	}
	if file := os.Getenv(statementsVariable); file != "" {
		var err error
		if statementsFile, err = os.Create(file); err != nil {
			return err
		}
	}
	if rc := sqlite3.Xsqlite3_auto_extension(tls, functionPointer(connectionOpened)); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register the trace: SQLite error %d", rc)
	}
	return nil
}

// Methods of the translated C code.
type (
	openMethod  func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	syncMethod  func(tls *libc.TLS, file uintptr, flags int32) int32
	writeMethod func(tls *libc.TLS, file, data uintptr, amount int32, offset int64) int32
	entryPoint  func(tls *libc.TLS, db, message, api uintptr) int32
	traceMethod func(tls *libc.TLS, kind uint32, context, statement, data uintptr) int32
)

var connectionOpened entryPoint = func(tls *libc.TLS, db, _, _ uintptr) int32 {
	changesBefore.Store(db, int64(0)) // a closed connection may have had the same address
	return sqlite3.Xsqlite3_trace_v2(tls, db, sqlite3.SQLITE_TRACE_STMT|sqlite3.SQLITE_TRACE_PROFILE, functionPointer(statementTraced), 0)
}

// statementTraced is called when a statement begins and when it has ended.
var statementTraced traceMethod = func(tls *libc.TLS, kind uint32, _, statement, _ uintptr) int32 {
	if kind == sqlite3.SQLITE_TRACE_STMT {
		storageCounts.statements.Add(1)
		if statementsFile != nil {
			fmt.Fprintf(statementsFile, "%q\n", libc.GoString(sqlite3.Xsqlite3_sql(tls, statement)))
		}
		return 0
	}
	db := sqlite3.Xsqlite3_db_handle(tls, statement)
	now := sqlite3.Xsqlite3_total_changes64(tls, db)
	if before, known := changesBefore.Swap(db, now); known {
		storageCounts.rows.Add(now - before.(int64))
	}
	return 0
}

var openCounted openMethod = func(tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr) int32 {
	open := function[openMethod](at[sqlite3.Tsqlite3_vfs](vfsOriginal).FxOpen)
	if rc := open(tls, vfsOriginal, name, file, flags, outFlags); rc != sqlite3.SQLITE_OK {
		return rc
	}
	opened := at[sqlite3.Tsqlite3_file](file)
	opened.FpMethods = uintptr(unsafe.Pointer(layerFor(layerKey{opened.FpMethods, flags&sqlite3.SQLITE_OPEN_WAL != 0})))
	return sqlite3.SQLITE_OK
}

func layerFor(key layerKey) *methodLayer {
	layersMu.Lock()
	defer layersMu.Unlock()
	l := layers[key]
	if l == nil {
		original := at[sqlite3.Tsqlite3_io_methods](key.original)
		l = &methodLayer{*original, original}
		l.methods.FxSync = functionPointer(syncCounted)
		if key.wal {
			l.methods.FxWrite = functionPointer(writeCounted)
		}
		layers[key] = l
	}
	return l
}

// originalMethods returns the methods that a layer replaced.
func originalMethods(file uintptr) *sqlite3.Tsqlite3_io_methods {
	return at[methodLayer](at[sqlite3.Tsqlite3_file](file).FpMethods).original
}

var syncCounted syncMethod = func(tls *libc.TLS, file uintptr, flags int32) int32 {
	storageCounts.syncs.Add(1)
	return function[syncMethod](originalMethods(file).FxSync)(tls, file, flags)
}

var writeCounted writeMethod = func(tls *libc.TLS, file, data uintptr, amount int32, offset int64) int32 {
	if amount == walFrameHeader {
		storageCounts.pages.Add(1)
	}
	return function[writeMethod](originalMethods(file).FxWrite)(tls, file, data, amount, offset)
}

// at returns the C object at address p.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// function returns the Go function behind a function pointer of the translated C code.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

// functionPointer is the reverse of function. f must not capture variables, so that the
// garbage collector never moves or frees it.
func functionPointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// printCounts writes the current counts as one line.
func printCounts() {
	fmt.Fprintln(os.Stdout, storageCounts.syncs.Load(), storageCounts.pages.Load(),
		storageCounts.statements.Load(), storageCounts.rows.Load())
}
