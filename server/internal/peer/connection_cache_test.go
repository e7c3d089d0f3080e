package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionCache(t *testing.T) {
	t.Parallel()
	first, other := &Process{Boot: "first"}, &Process{Boot: "other"}
	find := func(p *Process) func() *Process { return func() *Process { return p } }
	var c ConnectionCache
	require.Nil(t, c.Process(find(nil)), "a process that was not found is looked up again")
	require.Same(t, first, c.Process(find(first)))
	require.Same(t, first, c.Process(find(other)), "the connection stays that of its opener")
	_, ok := c.ParentCommand(first)
	require.False(t, ok)

	var none *ConnectionCache
	require.Same(t, first, none.Process(find(first)))
	require.Same(t, other, none.Process(find(other)))
}
