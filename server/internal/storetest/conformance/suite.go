// Package conformance is the suite that every storage engine passes as a whole, and the
// harness that the engines' own tests share. It depends on no engine.
package conformance

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

// Engine is a storage engine under test.
type Engine struct {
	// NewDatabase creates an empty database for one test.
	NewDatabase func(t testing.TB) Database
	// BuildIndex brings the search index of a store up to date; nil: the engine has none.
	BuildIndex func(t testing.TB, s store.Store)
}

// Database opens one database, also again after the store was closed. clock is the hub's
// clock.
type Database func(clock func() time.Time) (store.Store, error)

// suite holds the tests as methods: each Test method is a subtest of Run.
type suite struct{ Engine }

// Run runs all tests of the suite against an engine.
func Run(t *testing.T, e Engine) {
	tests := reflect.ValueOf(suite{e})
	for i := range tests.NumMethod() {
		if name, ok := strings.CutPrefix(tests.Type().Method(i).Name, "Test"); ok {
			t.Run(name, tests.Method(i).Interface().(func(*testing.T)))
		}
	}
}

// open returns a harness with an empty store.
func (s suite) open(t testing.TB) *Harness {
	t.Helper()
	return NewHarness(t, s.NewDatabase(t))
}

// buildIndex brings the search index up to date, if the engine has one.
func (s suite) buildIndex(t testing.TB, b *Harness) {
	t.Helper()
	if s.BuildIndex != nil {
		s.BuildIndex(t, b.Store)
	}
}
