package delivery

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// fakeListener acts as an agent's WebSocket server at the byte level, so that it can misbehave
// in every way.
type fakeListener struct {
	t       testing.TB
	ln      net.Listener
	script  func(*peerConn)
	serving sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	dials  int
	frames [][]byte
}

// peerConn is one connection to a fakeListener.
type peerConn struct {
	net.Conn
	br  *bufio.Reader
	req *http.Request
	l   *fakeListener
}

// startListener starts a listener. script runs for every connection after its handshake request
// was read. The connection is closed when script returns.
func startListener(t testing.TB, script func(*peerConn)) *fakeListener {
	t.Helper()
	return startListenerAt(t, "127.0.0.1:0", script)
}

func startListenerAt(t testing.TB, addr string, script func(*peerConn)) *fakeListener {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	l := &fakeListener{t: t, ln: ln, script: script, conns: map[net.Conn]bool{}}
	l.serving.Go(l.serve)
	t.Cleanup(l.stop)
	return l
}

func (l *fakeListener) stop() {
	_ = l.ln.Close()
	l.mu.Lock()
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.serving.Wait()
}

func (l *fakeListener) serve() {
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.dials++
		l.conns[conn] = true
		l.mu.Unlock()
		l.serving.Go(func() {
			p := &peerConn{Conn: conn, br: bufio.NewReader(conn), l: l}
			if p.req, err = http.ReadRequest(p.br); err == nil {
				l.script(p)
			}
			_ = conn.Close()
			l.mu.Lock()
			delete(l.conns, conn)
			l.mu.Unlock()
		})
	}
}

func (l *fakeListener) url() string { return "ws://" + l.ln.Addr().String() + "/" + secretPath }

func (l *fakeListener) counts() (dials, frames int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials, len(l.frames)
}

func (l *fakeListener) answer(i int) schema.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	var a schema.Answer
	require.NoError(l.t, json.Unmarshal(l.frames[i], &a))
	return a
}

// upgrade completes the handshake.
func (p *peerConn) upgrade(header ...string) {
	sum := sha1.Sum([]byte(p.req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, _ = fmt.Fprintf(p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	for _, line := range header {
		_, _ = fmt.Fprintf(p, "%s\r\n", line)
	}
	_, _ = io.WriteString(p, "\r\n")
}

func (p *peerConn) refuse(status int, header ...string) {
	_, _ = fmt.Fprintf(p, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n", status)
	for _, line := range header {
		_, _ = fmt.Fprintf(p, "%s\r\n", line)
	}
	_, _ = io.WriteString(p, "\r\n")
}

// read reads one message. The text messages are recorded.
func (p *peerConn) read() (opcode byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(p.br, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	switch n {
	case 126:
		var b [2]byte
		_, err = io.ReadFull(p.br, b[:])
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		_, err = io.ReadFull(p.br, b[:])
		n = binary.BigEndian.Uint64(b[:])
	}
	var mask [4]byte
	if err == nil {
		_, err = io.ReadFull(p.br, mask[:])
	}
	payload = make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(p.br, payload)
	}
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	if err == nil && head[0]&0xf == 1 {
		p.l.mu.Lock()
		p.l.frames = append(p.l.frames, payload)
		p.l.mu.Unlock()
	}
	return head[0] & 0xf, payload, err
}

func (p *peerConn) write(opcode byte, payload []byte) {
	b := []byte{0x80 | opcode}
	if len(payload) < 126 {
		b = append(b, byte(len(payload)))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(len(payload)))
	}
	_, _ = p.Write(append(b, payload...))
}

// sendClose sends a close frame; 1005 means one without a code.
func (p *peerConn) sendClose(code int) {
	if code == 1005 {
		p.write(8, nil)
	} else {
		p.write(8, binary.BigEndian.AppendUint16(nil, uint16(code)))
	}
	_, _, _ = p.read()
}

func (p *peerConn) reset() {
	_ = p.Conn.(*net.TCPConn).SetLinger(0)
	_ = p.Conn.Close()
}

// ack acknowledges an answer frame; the result "-" is omitted.
func (p *peerConn) ack(payload []byte, result string) {
	var a schema.Answer
	if json.Unmarshal(payload, &a) != nil {
		return
	}
	if result == "-" {
		result = ""
	}
	b, _ := json.Marshal(schema.Ack{Type: schema.AckType, AnswerID: a.AnswerID, Result: result})
	p.write(1, b)
}

// hang reads until the other side closes the connection.
func (p *peerConn) hang() { _, _ = io.Copy(io.Discard, p.br) }

// closeWith returns a script that closes a version 1 conversation with a code.
func closeWith(code int) func(*peerConn) {
	return func(p *peerConn) {
		p.upgrade()
		if _, _, err := p.read(); err == nil {
			p.sendClose(code)
		}
	}
}

// acknowledge returns a script for a version 2 listener that acknowledges everything with one
// result.
func acknowledge(result string) func(*peerConn) {
	return func(p *peerConn) {
		p.upgrade()
		if _, payload, err := p.read(); err == nil {
			p.ack(payload, result)
			p.sendClose(1000)
		}
	}
}

func portOfURL(t testing.TB, l *fakeListener) int {
	t.Helper()
	_, port, err := net.SplitHostPort(l.ln.Addr().String())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}
