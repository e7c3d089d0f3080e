package hookrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// Limits for reading stdin. Agents write their JSON and close the pipe, but some versions
// leave it open.
const (
	maxStdin          = schema.MaxBody - 64<<10 // bytes; the event around the input must fit into a request
	maxString         = 16 << 10                // bytes of one string in a larger input
	stdinPollInterval = 100 * time.Millisecond  // quiet time after which the input may be complete
)

// stdinTimeouts limit the time for reading stdin.
type stdinTimeouts struct {
	quiet time.Duration // quiet time after which an incomplete input fails
	total time.Duration // for the whole input
}

var defaultStdinTimeouts = stdinTimeouts{quiet: 2 * time.Second, total: 10 * time.Second}

var errStdinOpen = errors.New("stdin did not end")

// stdinReader collects stdin while another goroutine reads it.
type stdinReader struct {
	mu        sync.Mutex
	text      []byte
	truncator *truncator // replaces text once the input exceeds maxStdin

	grown chan struct{} // signals more input; capacity 1
	done  chan error    // receives the result at the end of stdin
}

// readInput reads an agent's JSON. If it is longer than maxStdin, its long strings are
// truncated and truncated is true; it then needs no more memory than an input of maxStdin.
//
// It returns at the end of stdin, or when the input is complete JSON and nothing follows for
// stdinPollInterval, or with errStdinOpen after a timeout. In the last two cases a goroutine
// keeps reading until the process exits.
func readInput(r io.Reader, limit stdinTimeouts) (text []byte, truncated bool, err error) {
	in := &stdinReader{grown: make(chan struct{}, 1), done: make(chan error, 1)}
	go in.read(r)
	timeout := time.NewTimer(limit.total)
	defer timeout.Stop()
	var quiet time.Duration
	for {
		idle := time.NewTimer(stdinPollInterval)
		select {
		case err := <-in.done:
			idle.Stop()
			if err != nil {
				return nil, false, fmt.Errorf("read stdin: %w", err)
			}
			return in.result()
		case <-in.grown:
			idle.Stop()
			quiet = 0
		case <-idle.C:
			quiet += stdinPollInterval
			if text, truncated, err := in.result(); err == nil && len(text) > 0 && hook.Valid(text) {
				return text, truncated, nil
			}
			if quiet >= limit.quiet {
				return nil, false, errStdinOpen
			}
		case <-timeout.C:
			idle.Stop()
			return nil, false, errStdinOpen
		}
	}
}

func (in *stdinReader) read(r io.Reader) {
	defer func() {
		if p := recover(); p != nil {
			in.done <- fmt.Errorf("panic: %v", p)
		}
	}()
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		in.add(chunk[:n])
		if errors.Is(err, io.EOF) {
			in.done <- nil
			return
		}
		if err != nil {
			in.done <- err
			return
		}
		select {
		case in.grown <- struct{}{}:
		default:
		}
	}
}

func (in *stdinReader) add(chunk []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.truncator == nil && len(in.text)+len(chunk) > maxStdin {
		in.truncator = &truncator{}
		in.truncator.add(in.text)
		in.text = nil
	}
	if in.truncator != nil {
		in.truncator.add(chunk)
		return
	}
	in.text = append(in.text, chunk...)
}

// result returns the input so far. The caller may keep text.
func (in *stdinReader) result() (text []byte, truncated bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.truncator == nil:
		return in.text[:len(in.text):len(in.text)], false, nil
	case len(in.truncator.out) > maxStdin:
		return nil, true, fmt.Errorf("stdin is larger than %d MiB, even without its long strings", maxStdin>>20)
	default:
		return in.truncator.out[:len(in.truncator.out):len(in.truncator.out)], true, nil
	}
}

// truncator copies JSON text and cuts each string after maxString bytes. It stops copying
// once the output exceeds maxStdin.
type truncator struct {
	out      []byte
	inString bool
	escape   int // rest of an escape sequence: escapeLetter, or the number of hex digits
	length   int // copied bytes of the current string
	omitted  int // omitted bytes of the current string
}

// escapeLetter is the state after a backslash.
const escapeLetter = 5

func (s *truncator) add(chunk []byte) {
	for len(chunk) > 0 && len(s.out) <= maxStdin {
		n := s.copyRun(chunk)
		if n == 0 {
			s.consume(chunk[0])
			n = 1
		}
		chunk = chunk[n:]
	}
}

// copyRun copies the start of chunk that needs no inspection of single bytes: text between
// strings, or inside a string up to its possible end or the cut. It returns the length.
func (s *truncator) copyRun(chunk []byte) int {
	if s.escape > 0 {
		return 0
	}
	n := bytes.IndexAny(chunk, `"\`)
	if n < 0 {
		n = len(chunk)
	}
	if !s.inString {
		s.out = append(s.out, chunk[:n]...)
		return n
	}
	if s.omitted > 0 {
		s.omitted += n
		return n
	}
	n = max(0, min(n, maxString-s.length))
	s.length += n
	s.out = append(s.out, chunk[:n]...)
	return n
}

func (s *truncator) consume(b byte) {
	if !s.inString {
		s.inString, s.length, s.omitted = b == '"', 0, 0
		s.out = append(s.out, b)
		return
	}
	startsRune := s.escape == 0 && utf8.RuneStart(b) // the string can be cut here
	switch {
	case s.escape == escapeLetter && b == 'u':
		s.escape = 4
	case s.escape == escapeLetter:
		s.escape = 0
	case s.escape > 0:
		s.escape--
	case b == '\\':
		s.escape = escapeLetter
	case b == '"':
		if s.omitted > 0 {
			s.out = fmt.Appendf(s.out, "… [hookback left out %d bytes]", s.omitted)
		}
		s.out, s.inString = append(s.out, b), false
		return
	}
	if s.omitted > 0 || startsRune && s.length >= maxString {
		s.omitted++
		return
	}
	s.length++
	s.out = append(s.out, b)
}
