package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestNewFile_IsSeparateHub(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, file := range []string{storetest.NewFile(t), storetest.NewFile(t), filepath.Join(t.TempDir(), "new.db")} {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: file, ReserveFileBytes: -1})
		require.NoError(t, err)
		require.Zero(t, s.Head())
		ids[s.HubID()] = true
		require.NoError(t, s.Close())
	}
	require.Len(t, ids, 3)
}
