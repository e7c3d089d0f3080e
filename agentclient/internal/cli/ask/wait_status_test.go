package ask

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
)

func TestWaitText(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := agentclient.WaitStatus{PageURL: "http://127.0.0.1:4000/inbox/12"}
	require.Equal(t, "Waiting for an answer at http://127.0.0.1:4000/inbox/12 …", waitText(w, now))
	for left, want := range map[time.Duration]string{
		298 * time.Second: "4:58 left", 61*time.Minute + time.Second: "1:01:01 left", -time.Second: "0:00 left",
	} {
		w.Deadline = now.Add(left)
		require.Equal(t, "Waiting for an answer at http://127.0.0.1:4000/inbox/12 … "+want, waitText(w, now))
	}
}

func TestWaitLine_ShowsAndClears(t *testing.T) {
	t.Parallel()
	shown := make(chan string, 1)
	l := newWaitLine(io.Discard)
	require.Nil(t, l.w, "the line is shown on terminals only")
	l.show(agentclient.WaitStatus{})
	l.w = writerFunc(func(b []byte) (int, error) {
		select {
		case shown <- string(b):
		default:
		}
		return len(b), nil
	})
	l.show(agentclient.WaitStatus{PageURL: "http://h/inbox/1"})
	require.Equal(t, "\r\x1b[KWaiting for an answer at http://h/inbox/1 …", <-shown)
	l.clear()
	require.Equal(t, "\r\x1b[K", <-shown)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
