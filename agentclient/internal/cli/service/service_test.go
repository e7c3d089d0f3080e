package service

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the goldens; review the diff before committing it")

// awkward has the characters that mean something in a unit.
var awkward = []string{"/opt/hook back/hookback-server", "-db", `C:\data\my "hub".db\`, "-allow-host", "100%$HOME<&>'", ""}

func TestUnits_AreGolden(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{
		"hookback.service":       systemdUnit(awkward),
		"dev.hookback.hub.plist": newLaunchAgent("/Users/ada & co", 501, awkward).content,
		"task.xml":               task(awkward, `PC\ada`),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, got, 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
