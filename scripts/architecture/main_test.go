package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPicture_IsCurrent(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile(filepath.Join("../..", picture))
	require.NoError(t, err)
	require.Equal(t, string(draw()), string(committed), "%s is out of date: go run ./scripts/architecture", picture)
}

// Every package in the picture exists. The people and programs outside the hub are not
// packages.
func TestPicture_NamesPackages(t *testing.T) {
	t.Parallel()
	for _, part := range boxes {
		if part.style == outside {
			continue
		}
		for name := range strings.SplitSeq(part.title, ", ") {
			require.DirExists(t, filepath.Join("../../server/internal", name))
		}
	}
}
