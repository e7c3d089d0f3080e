//go:build linux || darwin

package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfig_ExplainsFilesOfOtherAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "own.db")
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	foreign, uid := "/etc/passwd", 0
	if os.Geteuid() == 0 {
		foreign, uid = filepath.Join(dir, "foreign.db"), 23457
		require.NoError(t, os.WriteFile(foreign, nil, 0o600))
		require.NoError(t, os.Chown(foreign, uid, -1))
	}
	cfg := &Config{DB: "sqlite:/data/hub.db"}
	denied := func(path string) error {
		return fmt.Errorf("restrict access to the database: %w", &fs.PathError{Op: "chmod", Path: path, Err: fs.ErrPermission})
	}
	err := cfg.explainOwner(denied(foreign))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, fmt.Sprintf("%s belongs to user id %d, and the hub runs as user id %d; nothing was changed",
		foreign, uid, os.Geteuid()))
	if uid != 0 {
		require.ErrorContains(t, err, fmt.Sprintf("run the hub as user id %d, or", uid))
	}
	require.ErrorContains(t, err, fmt.Sprintf("chown %d /data/hub.db*", os.Geteuid()))
	require.Equal(t, denied(own), cfg.explainOwner(denied(own)), "a mode of its own file has another cause")
	require.NoError(t, cfg.explainOwner(nil))
}
