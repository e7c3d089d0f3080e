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
	maxStdin  = schema.MaxBody - 64<<10 // bytes: an event around it is to fit into a request
	maxString = 16 << 10                // bytes of one string, in an input that is larger
	stdinIdle = 100 * time.Millisecond  // when what is there is looked at: it may be complete
	stdinGone = 2 * time.Second         // without another byte: nobody writes any more
	stdinLast = 10 * time.Second        // altogether
)

var errStdin = errors.New("stdin did not end")

// intake is stdin while it arrives.
type intake struct {
	mu   sync.Mutex
	text []byte
	cut  *shortener // set once text would be too long; it has all of it from then on

	grew chan struct{} // gets a value when there is more
	done chan error    // gets the end
}

// readInput reads an agent's JSON. One that is too long comes shortened: its long
// strings are cut, and say so. That takes no more memory than one of maxStdin.
//
// It returns when stdin ends, when a whole JSON text is there and nothing follows
// for a moment, or with errStdin when nothing comes any more. Then whoever reads
// goes on to do so until the program exits.
func readInput(r io.Reader) (text []byte, shortened bool, err error) {
	in := &intake{grew: make(chan struct{}, 1), done: make(chan error, 1)}
	go in.read(r)
	last := time.NewTimer(stdinLast)
	defer last.Stop()
	var quiet time.Duration
	for {
		idle := time.NewTimer(stdinIdle)
		select {
		case err := <-in.done:
			idle.Stop()
			if err != nil {
				return nil, false, fmt.Errorf("stdin can't be read: %w", err)
			}
			return in.result()
		case <-in.grew:
			idle.Stop()
			quiet = 0
		case <-idle.C:
			quiet += stdinIdle
			if text, shortened, err := in.result(); err == nil && len(text) > 0 && hook.Valid(text) {
				return text, shortened, nil
			}
			if quiet >= stdinGone {
				return nil, false, errStdin
			}
		case <-last.C:
			idle.Stop()
			return nil, false, errStdin
		}
	}
}

func (in *intake) read(r io.Reader) {
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
		case in.grew <- struct{}{}:
		default:
		}
	}
}

func (in *intake) add(chunk []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cut == nil && len(in.text)+len(chunk) > maxStdin {
		in.cut = &shortener{}
		in.cut.add(in.text)
		in.text = nil
	}
	if in.cut != nil {
		in.cut.add(chunk)
		return
	}
	in.text = append(in.text, chunk...)
}

// result is what has come until now; the caller may keep it.
func (in *intake) result() (text []byte, shortened bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.cut == nil:
		return in.text[:len(in.text):len(in.text)], false, nil
	case len(in.cut.out) > maxStdin:
		return nil, true, fmt.Errorf("stdin is larger than %d MiB, even without its long strings", maxStdin>>20)
	default:
		return in.cut.out[:len(in.cut.out):len(in.cut.out)], true, nil
	}
}

// shortener copies a JSON text and leaves out what is behind the first maxString
// bytes of its strings. It stops copying when that does not make it short enough.
type shortener struct {
	out      []byte
	inString bool
	escape   int // what is to come of an escape: atLetter, or so many digits
	length   int // of the string, as far as it was copied
	left     int // bytes of it that were left out
}

// atLetter: the backslash was the last byte.
const atLetter = 5

func (s *shortener) add(chunk []byte) {
	for len(chunk) > 0 && len(s.out) <= maxStdin {
		n := s.plain(chunk)
		if n == 0 {
			s.next(chunk[0])
			n = 1
		}
		chunk = chunk[n:]
	}
}

// plain takes what chunk begins with that needs no look at each byte, and returns its
// length: what is between strings, and a string's text up to where it may end or be cut.
func (s *shortener) plain(chunk []byte) int {
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
	if s.left > 0 {
		s.left += n
		return n
	}
	n = max(0, min(n, maxString-s.length))
	s.length += n
	s.out = append(s.out, chunk[:n]...)
	return n
}

func (s *shortener) next(b byte) {
	if !s.inString {
		s.inString, s.length, s.left = b == '"', 0, 0
		s.out = append(s.out, b)
		return
	}
	begins := s.escape == 0 && utf8.RuneStart(b) // a character, so here it can be cut
	switch {
	case s.escape == atLetter && b == 'u':
		s.escape = 4
	case s.escape == atLetter:
		s.escape = 0
	case s.escape > 0:
		s.escape--
	case b == '\\':
		s.escape = atLetter
	case b == '"':
		if s.left > 0 {
			s.out = fmt.Appendf(s.out, "… [hookback left out %d bytes]", s.left)
		}
		s.out, s.inString = append(s.out, b), false
		return
	}
	if s.left > 0 || begins && s.length >= maxString {
		s.left++
		return
	}
	s.length++
	s.out = append(s.out, b)
}
