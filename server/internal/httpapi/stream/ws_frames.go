package stream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

// Server frames are encoded here rather than by the WebSocket library, so that everything
// that is ready goes out in one write. Unmasked, unfragmented text frames (RFC 6455, 5.2)
// need only a header.

const (
	opContinuation = 0
	opText         = 1
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10
)

// readLimit is the maximum size of a client message. Clients have little to send.
const readLimit = 64 << 10

// appendHeader appends the header of an unfragmented server frame with n bytes of payload.
func appendHeader(b []byte, op byte, n int) []byte {
	const final = 0x80
	b = append(b, final|op)
	switch {
	case n < 126:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
}

// appendClose appends a close frame.
func appendClose(b []byte, code uint16, reason string) []byte {
	b = appendHeader(b, opClose, 2+len(reason))
	b = binary.BigEndian.AppendUint16(b, code)
	return append(b, reason...)
}

// appendMessage appends a text message with data that has no sequence number: any version 1
// message, or a version 2 message that is not from the log.
func appendMessage(b []byte, kind schema.FrameType, data []byte) []byte {
	const open, middle = `{"type":"`, `","data":`
	b = appendHeader(b, opText, len(open)+len(kind)+len(middle)+len(data)+1)
	b = append(append(append(append(b, open...), kind...), middle...), data...)
	return append(b, '}')
}

// appendHeartbeat appends a ping, whose reply shows that the client is there, and in version 2 a frame, which
// shows a page that the hub is.
func appendHeartbeat(b []byte, version int, now time.Time) []byte {
	b = appendHeader(b, opPing, 0)
	if version == 1 {
		return b
	}
	return appendMessage(b, schema.HeartbeatFrame, fmt.Appendf(nil, `{"serverTime":%d}`, now.UnixMilli()))
}

const (
	eventOpen  = `{"type":"event","seq":`
	statusOpen = `{"type":"status","seq":`
	dataOpen   = `,"data":`
)

func frameOpen(f feed.Frame) string {
	if f.Status {
		return statusOpen
	}
	return eventOpen
}

// frameSize returns the number of bytes that appendFrame appends.
func frameSize(f feed.Frame) int {
	var digits [20]byte
	return len(frameOpen(f)) + len(strconv.AppendInt(digits[:0], f.Seq, 10)) + len(dataOpen) + len(f.Data) + 1
}

// appendFrame appends a log frame in the version 2 encoding.
func appendFrame(b []byte, f feed.Frame) []byte {
	b = append(b, frameOpen(f)...)
	b = strconv.AppendInt(b, f.Seq, 10)
	b = append(append(b, dataOpen...), f.Data...)
	return append(b, '}')
}

// appendFrames appends one version 2 message: an object for one frame, an array for
// several.
func appendFrames(b []byte, frames []feed.Frame) []byte {
	if len(frames) == 1 {
		return appendFrame(appendHeader(b, opText, frameSize(frames[0])), frames[0])
	}
	size := 1 + len(frames)
	for _, f := range frames {
		size += frameSize(f)
	}
	b = appendHeader(b, opText, size)
	for i, f := range frames {
		if i == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b = appendFrame(b, f)
	}
	return append(b, ']')
}

// clientFrame is a frame from a client: its header, and the payload if it is a control
// frame.
type clientFrame struct {
	op      byte
	final   bool // last frame of its message
	size    int  // payload bytes that are still unread
	mask    [4]byte
	control []byte // unmasked
}

func (in *clientFrame) unmask(payload []byte) {
	for i := range payload {
		payload[i] ^= in.mask[i%4]
	}
}

// errProtocol reports a frame that RFC 6455 does not allow from a client.
var errProtocol = errors.New("invalid client frame")

// readClientFrame reads a frame. The payload of a data frame is left unread.
func readClientFrame(r *bufio.Reader) (in clientFrame, err error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:2]); err != nil {
		return in, err
	}
	const final, reserved, masked = 0x80, 0x70, 0x80
	in.op, in.size = b[0]&0x0f, int(b[1]&0x7f)
	in.final = b[0]&final != 0
	isControl := in.op >= opClose
	switch {
	case b[0]&reserved != 0, b[1]&masked == 0, in.op > opBinary && !isControl, in.op > opPong:
		return in, errProtocol
	case isControl && (in.size > 125 || !in.final):
		return in, errProtocol
	}
	switch in.size {
	case 126:
		_, err = io.ReadFull(r, b[:2])
		in.size = int(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(r, b[:8])
		in.size = int(min(binary.BigEndian.Uint64(b[:8]), readLimit+1)) // larger sizes are rejected anyway
	}
	if err != nil {
		return in, err
	}
	if _, err := io.ReadFull(r, in.mask[:]); err != nil || !isControl {
		return in, err
	}
	in.control, in.size = make([]byte, in.size), 0
	if _, err := io.ReadFull(r, in.control); err != nil {
		return in, err
	}
	in.unmask(in.control)
	if in.op == opClose && len(in.control) == 1 {
		return in, errProtocol
	}
	return in, nil
}
