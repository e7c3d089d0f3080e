package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

// maskedFrame encodes a client frame.
func maskedFrame(head byte, payload []byte) []byte {
	b := appendHeader(nil, 0, len(payload))
	b[0] = head
	b[1] |= 0x80
	mask := []byte{1, 2, 3, 4}
	b = append(b, mask...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

func TestAppendMessage_EncodesEveryPayloadSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 125, 126, 127, 65535, 65536, 1 << 20} {
		data := bytes.Repeat([]byte("x"), size)
		b := appendMessage(nil, schema.EventFrame, data)
		r := bytes.NewReader(b)
		payload := serverFrame(t, r)
		require.Equal(t, `{"type":"event","data":`+string(data)+"}", string(payload))
		require.Zero(t, r.Len())
	}
}

// serverFrame reads a text frame as a client does.
func serverFrame(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var b [10]byte
	_, err := io.ReadFull(r, b[:2])
	require.NoError(t, err)
	require.Equal(t, byte(0x81), b[0])
	n := int(b[1])
	extra := map[int]int{126: 2, 127: 8}[n]
	if extra > 0 {
		_, err = io.ReadFull(r, b[:extra])
		require.NoError(t, err)
		n = 0
		for _, c := range b[:extra] {
			n = n<<8 | int(c)
		}
	}
	payload := make([]byte, n)
	_, err = io.ReadFull(r, payload)
	require.NoError(t, err)
	return payload
}

func TestAppendFrames_EncodesObjectOrArray(t *testing.T) {
	t.Parallel()
	frames := []feed.Frame{
		{Seq: 9, Data: []byte(`{"id":9}`)},
		{Seq: 10, Status: true, Data: []byte(`{"id":9,"humanInTheLoopStatus":{}}`), End: []byte(`{"id":9,"end":true}`)},
		{Seq: 11, Data: []byte(`{"id":11}`)},
	}
	for n := 1; n <= len(frames); n++ {
		r := bytes.NewReader(appendFrames(nil, frames[:n]))
		payload := serverFrame(t, r)
		require.Zero(t, r.Len())
		if n == 1 {
			payload = append(append([]byte("["), payload...), ']')
		}
		var got []schema.Frame
		require.NoError(t, json.Unmarshal(payload, &got), string(payload))
		require.Len(t, got, n)
		for i, f := range got {
			require.Equal(t, frames[i].Seq, f.Seq)
			require.Equal(t, frames[i].Status, f.Type == schema.StatusFrame)
			require.JSONEq(t, string(frames[i].Data), string(f.Data))
		}
	}
}

func FuzzReadClientFrame(f *testing.F) {
	f.Add(maskedFrame(0x81, []byte("hello")))
	f.Add(maskedFrame(0x88, []byte{3, 0xe8}))
	f.Add([]byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := readClientFrame(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(in.control), 125)
		require.LessOrEqual(t, in.size, readLimit+1)
		require.GreaterOrEqual(t, in.size, 0)
	})
}
