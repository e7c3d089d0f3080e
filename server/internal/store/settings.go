package store

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
)

// Documents stores the settings of the hub: a JSON document for each name.
type Documents interface {
	// Document decodes the document with this name, and leaves the pointer's value as it is if there is none.
	Document(ctx context.Context, name string, document any) error

	// SetDocument replaces the document and appends NAME.changed with it to the audit log.
	SetDocument(ctx context.Context, name string, document any, by string) error
}

// The names of the documents.
const (
	SafetyLimits    = "safety"   // control.SafetySettings
	RequestDefaults = "requests" // control.RequestDefaults
	PublicAddress   = "reach"    // control.ReachSettings
	AlertRules      = "alerts"   // AlertSettings
)

// Settings are a document of settings of the hub in memory, as stored. Its methods are safe for concurrent use.
type Settings[T any] struct {
	store   Documents
	name    string
	apply   func(T)
	mu      sync.Mutex // serializes changes
	current atomic.Pointer[T]
}

// OpenSettings reads the document with this name; the zero value if there is none. apply puts it into effect, now
// and whenever it changes, one call at a time.
func OpenSettings[T any](ctx context.Context, documents Documents, name string, apply func(T)) (*Settings[T], error) {
	s := &Settings[T]{store: documents, name: name, apply: apply}
	return s, s.Reload(ctx)
}

func (s *Settings[T]) load(ctx context.Context) (document T, err error) {
	if err = s.store.Document(ctx, s.name, &document); err != nil {
		err = fmt.Errorf("read the settings %s: %w", s.name, err)
	}
	return document, err
}

// Read returns the document. The caller must not change what it refers to.
func (s *Settings[T]) Read() T { return *s.current.Load() }

// Reload reads the document again. Another hub may have changed it.
func (s *Settings[T]) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, err := s.load(ctx)
	if err != nil {
		return err
	}
	if before := s.current.Load(); before == nil || !reflect.DeepEqual(*before, document) {
		s.set(document)
	}
	return nil
}

// Set replaces the document on behalf of a person. A document with a method Validate must be valid.
func (s *Settings[T]) Set(ctx context.Context, document T, by string) error {
	return s.Change(ctx, by, func(stored *T) error {
		*stored = document
		return nil
	})
}

// Change edits the stored document on behalf of a person. If edit fails, nothing changes.
func (s *Settings[T]) Change(ctx context.Context, by string, edit func(*T) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, err := s.load(ctx) // another hub may have changed it
	if err != nil {
		return err
	}
	if err := edit(&document); err != nil {
		return err
	}
	if d, ok := any(&document).(interface{ Validate() error }); ok {
		if err := d.Validate(); err != nil {
			return err
		}
	}
	if err := s.store.SetDocument(ctx, s.name, document, by); err != nil {
		return err
	}
	s.set(document)
	return nil
}

// set puts a document into effect. It needs mu.
func (s *Settings[T]) set(document T) {
	s.current.Store(&document)
	s.apply(document)
}
