//go:build unix

package account

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHomeInPasswd(t *testing.T) {
	t.Parallel()
	text := "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\nrel:x:7:7::home:/bin/sh\n"
	require.Equal(t, "/home/ada", homeInPasswd([]byte(text), "1000"))
	require.Empty(t, homeInPasswd([]byte(text), "100"))
	require.Empty(t, homeInPasswd([]byte(text), "7"))
}
