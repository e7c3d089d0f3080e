// Package requestdefaults completes questions by the hub's settings: with a deadline, recipients and a
// number of approvals, by kind and risk.
package requestdefaults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// People knows the accounts.
type People interface {
	// ResolveRecipients returns the people that r addresses, nil for anyone.
	ResolveRecipients(r *schema.Recipients) ([]string, error)
}

// Settings are the stored defaults. Its methods are safe for concurrent use.
type Settings struct {
	*store.Settings[control.RequestDefaults]
	people People
}

// Open reads the stored defaults.
func Open(ctx context.Context, s store.Documents, people People) (*Settings, error) {
	stored, err := store.OpenSettings(ctx, s, store.RequestDefaults, func(control.RequestDefaults) {})
	return &Settings{stored, people}, err
}

// Read returns the defaults.
func (s *Settings) Read() control.RequestDefaults {
	return control.RequestDefaults{Defaults: append([]control.RequestDefault{}, s.Settings.Read().Defaults...)}
}

// HasAny implements question.Defaults.
func (s *Settings) HasAny() bool { return len(s.Settings.Read().Defaults) > 0 }

// Set replaces the defaults on behalf of a person. The recipients of an entry that is not stored yet must
// exist and be able to answer.
func (s *Settings) Set(ctx context.Context, d control.RequestDefaults, by string) error {
	if err := d.Validate(); err != nil {
		return err
	}
	return s.Change(ctx, by, func(stored *control.RequestDefaults) error {
		for i := range d.Defaults {
			isStored := func(e control.RequestDefault) bool { return reflect.DeepEqual(e, d.Defaults[i]) }
			if slices.ContainsFunc(stored.Defaults, isStored) {
				continue
			}
			if err := s.checkRecipients(i, &d.Defaults[i]); err != nil {
				return err
			}
		}
		*stored = d
		return nil
	})
}

// checkRecipients checks that the recipients of entry i exist and that enough may vote.
func (s *Settings) checkRecipients(i int, d *control.RequestDefault) error {
	names, err := s.people.ResolveRecipients(d.Recipients)
	var field *schema.FieldError
	switch n := d.RequiredApprovals; {
	case errors.As(err, &field):
		member := strings.TrimPrefix(field.Field, "humanInTheLoop.")
		return &schema.FieldError{Field: fmt.Sprintf("defaults.%d.%s", i, member), Detail: field.Detail}
	case err == nil && names != nil && n > len(names):
		return &schema.FieldError{Field: fmt.Sprintf("defaults.%d.requiredApprovals", i), Detail: fmt.Sprintf("is %d, but only %d of the recipients may vote", n, len(names))}
	default:
		return err
	}
}

// of returns the defaults of a question of this kind about a call of this class and risk.
func (s *Settings) of(kind schema.Kind, about *question.Call, class schema.Class, risk schema.Risk) (d control.RequestDefault) {
	d.Kind, d.Risk = kindOf(kind, about.Name), levelOf(class, risk)
	for _, entry := range s.Settings.Read().Defaults {
		if entry.Kind != "" && entry.Kind != d.Kind || entry.Risk != "" && entry.Risk != d.Risk ||
			len(entry.Paths) > 0 && !about.Touches(entry.Paths) {
			continue
		}
		if d.TimeoutSeconds == nil {
			d.TimeoutSeconds = entry.TimeoutSeconds
		}
		if d.Recipients == nil {
			d.Recipients = entry.Recipients
		}
		d.RequiredApprovals = cmp.Or(d.RequiredApprovals, entry.RequiredApprovals)
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
