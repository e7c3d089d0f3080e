package app

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestApp_NotifiesServiceManager(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { _ = socket.Close() }()
	receive := func() string {
		b := make([]byte, 100)
		n, err := socket.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	_, stop := startHub(t, Config{Addr: "127.0.0.1:0", DB: filepath.Join(t.TempDir(), "hub.db"), Socket: "off", NotifySocket: name})
	require.Equal(t, "READY=1", receive())
	stop()
	require.Equal(t, "STOPPING=1", receive())
}
