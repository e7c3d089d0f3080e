package reload_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/reload"
)

type fake struct {
	runs int
	err  error
}

func (f *fake) Reload(context.Context) error {
	f.runs++
	return f.err
}

func TestList_RunsAllAndReportsEachError(t *testing.T) {
	t.Parallel()
	ok, full, gone := &fake{}, &fake{err: errors.New("full")}, &fake{err: errors.New("gone")}
	list := reload.List{"limits": full, "accounts": ok, "rules": gone}
	err := list.Reload(t.Context())
	require.ErrorIs(t, err, full.err)
	require.ErrorIs(t, err, gone.err)
	require.ErrorContains(t, err, "reload rules: gone")
	full.err, gone.err = nil, nil
	require.NoError(t, list.Reload(t.Context()))
	for _, f := range []*fake{ok, full, gone} {
		require.Equal(t, 2, f.runs)
	}
}
