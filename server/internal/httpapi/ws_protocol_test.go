package httpapi

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// maskedFrame encodes a client frame.
func maskedFrame(head byte, payload []byte) []byte {
	var b []byte
	switch n := len(payload); {
	case n < 126:
		b = []byte{head, 0x80 | byte(n)}
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16([]byte{head, 0x80 | 126}, uint16(n))
	default:
		b = binary.BigEndian.AppendUint64([]byte{head, 0x80 | 127}, uint64(n))
	}
	mask := []byte{1, 2, 3, 4}
	b = append(b, mask...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

// readLimit is the documented maximum size of a client message.
const readLimit = 64 << 10

// TestStream_ClosesOnProtocolError checks the close codes for protocol errors and the
// replies to valid frames.
func TestStream_ClosesOnProtocolError(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"ping":                   {maskedFrame(0x89, []byte("hi")), "\x8a\x02hi"},
		"close":                  {maskedFrame(0x88, []byte("\x03\xe8bye")), "\x88\x05\x03\xe8bye"},
		"close without a code":   {maskedFrame(0x88, nil), "\x88\x00"},
		"close with half a code": {maskedFrame(0x88, []byte{3}), "\x88\x02\x03\xea"},
		"no mask":                {[]byte("\x81\x02hi"), "\x88\x02\x03\xea"},
		"reserved bits":          {maskedFrame(0xc1, []byte("hi")), "\x88\x02\x03\xea"},
		"unknown opcode":         {maskedFrame(0x83, []byte("hi")), "\x88\x02\x03\xea"},
		"unknown control":        {maskedFrame(0x8b, nil), "\x88\x02\x03\xea"},
		"long ping":              {maskedFrame(0x89, make([]byte, 126)), "\x88\x02\x03\xea"},
		"split ping":             {maskedFrame(0x09, []byte("hi")), "\x88\x02\x03\xea"},
		"too long":               {maskedFrame(0x81, make([]byte, readLimit+1)), "\x88\x02\x03\xf1"},
		"far too long":           {append([]byte("\x81\xff"), bytes.Repeat([]byte{0xff}, 12)...), "\x88\x02\x03\xf1"},
		"too long in fragments": {append(append(maskedFrame(0x01, make([]byte, 40<<10)), maskedFrame(0x00, make([]byte, 20<<10))...),
			maskedFrame(0x00, make([]byte, 10<<10))...), "\x88\x02\x03\xf1"},
		"too long in fragments, with a ping": {append(append(maskedFrame(0x01, make([]byte, 40<<10)), maskedFrame(0x89, nil)...),
			maskedFrame(0x00, make([]byte, 40<<10))...), "\x88\x02\x03\xf1"},
		"longest allowed, then a ping": {append(maskedFrame(0x81, make([]byte, readLimit)), maskedFrame(0x89, nil)...), "\x8a\x00"},
	} {
		conn, err := net.Dial("tcp", r.addr)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(waitLimit)))
		// The frame is sent with the handshake: bytes that the HTTP server has already
		// buffered must not be lost.
		_, err = io.WriteString(conn, "GET /stream?v=2 HTTP/1.1\r\nHost: "+r.addr+"\r\n"+strings.Join(upgradeHeaders, "\r\n")+"\r\n\r\n"+string(c.frame))
		require.NoError(t, err, name)
		replies := bufio.NewReader(conn)
		for line := ""; line != "\r\n"; {
			line, err = replies.ReadString('\n')
			require.NoError(t, err, name)
		}
		var received []byte
		for !bytes.Contains(received, []byte(c.want)) {
			b, err := replies.ReadByte()
			require.NoError(t, err, "%s: %q is not in %q", name, c.want, received)
			received = append(received, b)
		}
		if c.want[0] == 0x88 {
			_, err = io.ReadAll(replies)
			require.NoError(t, err, "%s: the connection closes", name)
		}
		require.NoError(t, conn.Close())
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"permission":true,"reason":"x"}`))
	f.Add([]byte(`{"answers":{"a":["b"]},"hookEvent":{"deep":[[[[]]]]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r schema.Response
		if err := unmarshal(b, &r); err != nil {
			p := schema.ProblemOf(err)
			require.Less(t, p.Status, 500, "%v", err)
			return
		}
		require.True(t, json.Valid(b))
	})
}
