package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/storetest"
)

func TestOpen_IsSeparateHub(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, file := range []string{"", storetest.NewFile(t), storetest.NewFile(t), filepath.Join(t.TempDir(), "new.db")} {
		s := storetest.Open(t, storetest.Options{File: file})
		require.Zero(t, s.Head())
		ids[s.HubID()] = true
		require.NoError(t, s.Close())
	}
	require.Len(t, ids, 4)
}
