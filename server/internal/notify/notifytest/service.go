package notifytest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// service is a local server whose calls can be made to fail.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	changed  chan struct{} // closed at every change
	failures map[string][]Failure
}

func (f *service) open(t *testing.T, serve http.HandlerFunc) {
	f.changed, f.failures = make(chan struct{}), map[string][]Failure{}
	f.Server = httptest.NewServer(serve)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
}

// Failure is how a call fails.
type Failure struct {
	Code       int // 0: the connection is cut after the call took effect
	RetryAfter int
}

// Fail makes the next call of a method fail.
func (f *service) Fail(method string, failure Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[method] = append(f.failures[method], failure)
}

func (f *service) nextFailure(method string) (next Failure, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.failures[method]
	if len(list) == 0 {
		return next, false
	}
	f.failures[method] = list[1:]
	return list[0], true
}

// notify wakes the calls that wait. The caller holds mu.
func (f *service) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}
