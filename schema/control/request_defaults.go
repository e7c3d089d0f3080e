package control

import (
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
)

// PathRequestDefaults is the path of the defaults of questions.
const PathRequestDefaults = "/api/settings/requests"

// Limits of RequestDefaults.
const (
	MaxRequestDefaults   = 20
	MinDefaultTimeout    = 10
	MaxDefaultTimeout    = 7 * 24 * 3600
	MaxDefaultApprovals  = 20
	MaxDefaultRecipients = 50
	MaxDefaultPaths      = 20
	MaxDefaultPath       = 200 // bytes
)

// Values of RequestDefault that are no schema.Kind and schema.Risk.
const (
	KindPlan    = "plan"
	RiskUnknown = "unknown"
)

const selectedMembers = "selected_members"

// RequestDefault holds the defaults of new questions of a kind and a risk.
type RequestDefault struct {
	// Kind is the kind of question; absent: every kind. A plan of an agent is no other permission.
	Kind string `json:"kind,omitempty" jsonschema:"enum=permission,enum=plan,enum=choice,enum=question"`
	// Risk is the hub's estimate; absent: every risk. low: the call is known to be harmless. unknown:
	// nothing is known, or there is no call.
	Risk string `json:"risk,omitempty" jsonschema:"enum=low,enum=unknown,enum=medium,enum=high,enum=critical"`
	// Paths are globs of files, such as payments/*, in any folder; absent: every question. * is any text. The hub reads
	// the files from the call.
	Paths []string `json:"paths,omitempty"`

	// TimeoutSeconds is the time to answer, 10 to 604800; 0: no deadline; absent: 300.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"`
	// Recipients with owners and without a mode are the owners of the files; see schema.Recipients.
	Recipients *schema.Recipients `json:"recipients,omitempty"`
	// RequiredApprovals applies to questions that require fewer, 2 to 20. Absent: none.
	RequiredApprovals int `json:"requiredApprovals,omitempty"`
}

// RequestDefaults is the body of GET and PUT /api/settings/requests. For each of the three settings,
// the first entry that matches the question and has the setting counts.
type RequestDefaults struct {
	Defaults []RequestDefault `json:"defaults"` // at most 20
}

// Validate checks the entries, except for the accounts of their recipients. Its errors are *schema.FieldError.
func (s *RequestDefaults) Validate() error {
	if len(s.Defaults) > MaxRequestDefaults {
		return &schema.FieldError{Field: "defaults", Detail: fmt.Sprintf("has more than %d entries", MaxRequestDefaults)}
	}
	for i := range s.Defaults {
		if member, detail := s.Defaults[i].problem(); member != "" {
			return &schema.FieldError{Field: fmt.Sprintf("defaults.%d.%s", i, member), Detail: detail}
		}
	}
	return nil
}

// problem returns the first invalid member and the reason; "" if there is none.
func (d *RequestDefault) problem() (member, detail string) {
	kinds := []string{"", string(schema.Permission), KindPlan, string(schema.Choice), string(schema.FreeText)}
	risks := []string{"", string(schema.LowRisk), RiskUnknown, string(schema.MediumRisk), string(schema.HighRisk), string(schema.CriticalRisk)}
	t, n := d.TimeoutSeconds, d.RequiredApprovals
	switch {
	case !slices.Contains(kinds, d.Kind):
		return "kind", "must be permission, plan, choice or question, or absent"
	case !slices.Contains(risks, d.Risk):
		return "risk", "must be low, unknown, medium, high or critical, or absent"
	case len(d.Paths) > MaxDefaultPaths, slices.ContainsFunc(d.Paths, func(p string) bool { return p == "" || len(p) > MaxDefaultPath }):
		return "paths", fmt.Sprintf("must be at most %d globs of 1 to %d bytes", MaxDefaultPaths, MaxDefaultPath)
	case t == nil && d.Recipients == nil && n == 0:
		return "timeoutSeconds", "is required if there are neither recipients nor requiredApprovals"
	case t != nil && *t != 0 && (*t < MinDefaultTimeout || *t > MaxDefaultTimeout):
		return "timeoutSeconds", fmt.Sprintf("must be %d to %d, or 0 for no deadline", MinDefaultTimeout, MaxDefaultTimeout)
	case n != 0 && (n < 2 || n > MaxDefaultApprovals):
		return "requiredApprovals", fmt.Sprintf("must be 2 to %d, or absent", MaxDefaultApprovals)
	case n != 0 && d.Kind == string(schema.FreeText):
		return "requiredApprovals", "must be absent for questions, because two texts never agree"
	}
	return d.recipientsProblem()
}

func (d *RequestDefault) recipientsProblem() (member, detail string) {
	r := d.Recipients
	if r == nil {
		return "", ""
	}
	isSelected := r.Mode == selectedMembers
	switch {
	case r.Mode == "" && r.Owners && len(r.Members) == 0:
		return "", ""
	case !slices.Contains([]string{"anyone", "owner", "owner_admins", selectedMembers}, r.Mode):
		return "recipients.mode", "must be anyone, owner, owner_admins or selected_members"
	case len(r.Extra) > 0:
		return "recipients", "has an unknown member"
	case isSelected != (len(r.Members) > 0):
		return "recipients.members", "must have names with the mode selected_members, and none with another mode"
	case len(r.Members) > MaxDefaultRecipients:
		return "recipients.members", fmt.Sprintf("has more than %d names", MaxDefaultRecipients)
	case isSelected && d.RequiredApprovals > len(r.Members):
		return "requiredApprovals", fmt.Sprintf("is %d, more than the %d that recipients.members names", d.RequiredApprovals, len(r.Members))
	default:
		return "", ""
	}
}
