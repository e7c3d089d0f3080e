package store

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
)

// Settings are a document of settings of the hub in memory, as stored. Its methods are safe for concurrent use.
type Settings[T any] struct {
	name    string
	load    func(context.Context) (T, error)
	save    func(ctx context.Context, document T, by string) error
	apply   func(T)
	mu      sync.Mutex // serializes changes
	current atomic.Pointer[T]
}

// OpenSettings reads a document, which errors call name. load and save are methods of a store: save also appends
// to the audit log. apply puts the document into effect, now and whenever it changes, one call at a time.
func OpenSettings[T any](
	ctx context.Context, name string, load func(context.Context) (T, error), save func(context.Context, T, string) error, apply func(T),
) (*Settings[T], error) {
	s := &Settings[T]{name: name, load: load, save: save, apply: apply}
	return s, s.Reload(ctx)
}

// Read returns the document. The caller must not change what it refers to.
func (s *Settings[T]) Read() T { return *s.current.Load() }

// Reload reads the document again. Another hub may have changed it.
func (s *Settings[T]) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, err := s.load(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.name, err)
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
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	if err := edit(&document); err != nil {
		return err
	}
	if d, ok := any(&document).(interface{ Validate() error }); ok {
		if err := d.Validate(); err != nil {
			return err
		}
	}
	if err := s.save(ctx, document, by); err != nil {
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
