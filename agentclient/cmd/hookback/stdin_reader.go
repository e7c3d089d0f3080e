package main

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

// How a hook reads its stdin. Agents write their JSON and close; some have been seen
// to forget the closing.
const (
	maxStdin          = schema.MaxBody - 64<<10 // bytes: an event around it is to fit into a request
	maxString         = 16 << 10                // bytes of one string, in an input that is larger
	stdinPollInterval = 100 * time.Millisecond  // when what is there is looked at: it may be complete
	stdinQuietTimeout = 2 * time.Second         // without another byte: nobody writes any more
	stdinTimeout      = 10 * time.Second        // altogether
)

var errStdinOpen = errors.New("stdin did not end")

// stdinReader is stdin while it arrives.
type stdinReader struct {
	mu        sync.Mutex
	text      []byte
	truncator *truncator // set once text would be too long; it has all of it from then on

	grown chan struct{} // gets a value when there is more
	done  chan error    // gets the end
}

// readInput reads an agent's JSON. One that is too long comes shortened: its long
// strings are cut, and say so. That takes no more memory than one of maxStdin.
//
// It returns when stdin ends, when a whole JSON text is there and nothing follows
// for a moment, or with errStdinOpen when nothing comes any more. Then whoever reads
// goes on to do so until the program exits.
func readInput(r io.Reader) (text []byte, truncated bool, err error) {
	in := &stdinReader{grown: make(chan struct{}, 1), done: make(chan error, 1)}
	go in.read(r)
	timeout := time.NewTimer(stdinTimeout)
	defer timeout.Stop()
	var quiet time.Duration
	for {
		idle := time.NewTimer(stdinPollInterval)
		select {
		case err := <-in.done:
			idle.Stop()
			if err != nil {
				return nil, false, fmt.Errorf("stdin can't be read: %w", err)
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
			if quiet >= stdinQuietTimeout {
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

// result is what has come until now; the caller may keep it.
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

// truncator copies a JSON text and leaves out what is behind the first maxString
// bytes of its strings. It stops copying when that does not make it short enough.
type truncator struct {
	out      []byte
	inString bool
	escape   int // what is to come of an escape: escapeLetter, or so many digits
	length   int // of the string, as far as it was copied
	omitted  int // bytes of it that were left out
}

// escapeLetter: the backslash was the last byte.
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

// copyRun takes what chunk begins with that needs no look at each byte, and returns its
// length: what is between strings, and a string's text up to where it may end or be cut.
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
	startsRune := s.escape == 0 && utf8.RuneStart(b) // a character, so here it can be cut
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
