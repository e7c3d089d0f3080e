// Package requestdefaults completes questions by the hub's settings: with a deadline, recipients and a
// number of approvals, by kind and risk.
package requestdefaults

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// People knows the accounts.
type People interface {
	// ResolveRecipients returns the people that r addresses, nil for anyone.
	ResolveRecipients(r *schema.Recipients) ([]string, error)
}

// Settings are the stored defaults. Its methods are safe for concurrent use.
type Settings struct {
	store   store.Safety
	people  People
	mu      sync.Mutex // serializes changes
	current atomic.Pointer[control.RequestDefaults]
}

// Open reads the stored defaults.
func Open(ctx context.Context, s store.Safety, people People) (*Settings, error) {
	settings := &Settings{store: s, people: people}
	return settings, settings.Reload(ctx)
}

// Reload reads the stored defaults again. See reload.Reloader.
func (s *Settings) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.store.RequestDefaults(ctx)
	if err != nil {
		return fmt.Errorf("read the defaults of requests: %w", err)
	}
	s.apply(stored)
	return nil
}

func (s *Settings) apply(d control.RequestDefaults) {
	d.Defaults = append([]control.RequestDefault{}, d.Defaults...)
	s.current.Store(&d)
}

// Read returns the defaults.
func (s *Settings) Read() control.RequestDefaults { return *s.current.Load() }

// HasAny implements question.Defaults.
func (s *Settings) HasAny() bool { return len(s.current.Load().Defaults) > 0 }

// Set replaces the defaults on behalf of a person. The recipients of an entry that is not stored yet must
// exist and be able to answer.
func (s *Settings) Set(ctx context.Context, d control.RequestDefaults, by string) error {
	if err := d.Validate(); err != nil {
		return err
	}
	stored := s.Read().Defaults
	for i := range d.Defaults {
		if slices.ContainsFunc(stored, func(e control.RequestDefault) bool { return reflect.DeepEqual(e, d.Defaults[i]) }) {
			continue
		}
		names, err := s.people.ResolveRecipients(d.Defaults[i].Recipients)
		var field *schema.FieldError
		switch n := d.Defaults[i].RequiredApprovals; {
		case errors.As(err, &field):
			member := strings.TrimPrefix(field.Field, "humanInTheLoop.")
			return &schema.FieldError{Field: fmt.Sprintf("defaults.%d.%s", i, member), Detail: field.Detail}
		case err != nil:
			return err
		case names != nil && n > len(names):
			return &schema.FieldError{Field: fmt.Sprintf("defaults.%d.requiredApprovals", i), Detail: fmt.Sprintf("is %d, but only %d of the recipients may vote", n, len(names))}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.store.SetRequestDefaults(ctx, d, by); err != nil {
		return err
	}
	s.apply(d)
	return nil
}

// of returns the defaults of a question of this kind about a call of this tool, class and risk.
func (s *Settings) of(kind schema.Kind, tool string, class schema.Class, risk schema.Risk) (d control.RequestDefault) {
	d.Kind, d.Risk = kindOf(kind, tool), levelOf(class, risk)
	for _, entry := range s.current.Load().Defaults {
		if entry.Kind != "" && entry.Kind != d.Kind || entry.Risk != "" && entry.Risk != d.Risk {
			continue
		}
		if d.TimeoutSeconds == nil {
			d.TimeoutSeconds = entry.TimeoutSeconds
		}
		if d.Recipients == nil {
			d.Recipients = entry.Recipients
		}
		if d.RequiredApprovals == 0 {
			d.RequiredApprovals = entry.RequiredApprovals
		}
	}
	return d
}

func kindOf(kind schema.Kind, tool string) string {
	if kind == schema.Permission && call.IsPlan(tool) {
		return control.KindPlan
	}
	return string(kind)
}

// levelOf returns the risk that entries name. An agent that calls its call low makes it no lower.
func levelOf(class schema.Class, risk schema.Risk) string {
	switch {
	case risk != "" && risk != schema.LowRisk:
		return string(risk)
	case class == schema.ClassHarmless:
		return string(schema.LowRisk)
	default:
		return control.RiskUnknown
	}
}
