package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program that the process starts has copies of its descriptors until it is executed. They must not keep the
// next hub away.
func TestClose_EndsLocksOfCopiedDescriptors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.db")
	first, err := openDatabaseFiles(file)
	require.NoError(t, err)
	for _, f := range []interface{ Fd() uintptr }{first.database, first.lock.(heldLock)} {
		copied, err := unix.Dup(int(f.Fd()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(copied) })
	}
	require.NoError(t, first.Close())
	second, err := openDatabaseFiles(file)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}
