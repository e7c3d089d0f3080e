//go:build unix

package account

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindInPasswd(t *testing.T) {
	t.Parallel()
	text := "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\nrel:x:7:7::home:/bin/sh\n"
	for uid, want := range map[string][2]string{"1000": {"ada", "/home/ada"}, "100": {}, "7": {}} {
		name, home := findInPasswd([]byte(text), uid)
		require.Equal(t, want, [2]string{name, home}, uid)
	}
}
