package hubtest

import (
	"strings"
	"sync"
)

// Output collects the output of a program for a test to read at any time. The zero value is
// ready to use. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the text.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
