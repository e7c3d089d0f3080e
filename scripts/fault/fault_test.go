package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKillRun is the short form of the kill run: the full one is make fault.
func TestKillRun(t *testing.T) {
	isolate()
	dir := t.TempDir()
	bin, err := build(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, killRun(t.Context(), workspace{bin, dir, t.Output()}, load{Kills: 20, Questions: 1600, Agents: 64}))
}
