package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/schema"
)

// IneligibleError is the reason why a rule can't be made, as a sentence for people.
type IneligibleError string

func (r IneligibleError) Error() string { return string(r) }

// Compile makes a rule from a draft and the call it is created from. With an IneligibleError it
// also returns the rule, for a preview. If the draft is invalid, the error is a
// *schema.FieldError.
func Compile(d *schema.RuleDraft, call *Call, by string, now schema.Millis) (*schema.Rule, error) {
	if err := validateDraft(call.Tool, d); err != nil {
		return nil, err
	}
	call.decodeArguments()
	r := &schema.Rule{
		Then: d.Then, Tool: call.Tool, When: d.When, Reason: d.Reason, From: d.From, CreatedAt: now, CreatedBy: by,
		ExpiresAt: now + schema.Millis(schema.DefaultRuleTTL.Milliseconds()),
	}
	if ttl := d.TTLSeconds; ttl != nil {
		if r.ExpiresAt = 0; *ttl > 0 {
			r.ExpiresAt = now + schema.Millis(*ttl*1000)
		}
	}
	switch d.Scope {
	case schema.ScopeCall:
		r.Call = call.callKey()
	case schema.ScopeArguments:
		r.Call = call.argumentsKey()
	case schema.ScopeSession:
		r.Scope, r.Tool, r.ExpiresAt = schema.ScopeSession, "", now+schema.Millis(schema.AllowanceTTL.Milliseconds())
	}
	switch d.Reach {
	case schema.ReachSession:
		r.SourceApp, r.SessionID = call.App, call.Session
	case schema.ReachProject:
		r.SourceApp, r.Cwd = call.App, call.projectDir()
	case schema.ReachAgent:
		r.SourceApp = call.App
	}
	if d.Then == schema.ThenAllow && r.Call == "" && !call.IsSample && r.Scope == "" {
		r.Command = call.ownCommand()
	}
	r.Text = Sentence(r, call)
	if reason := refusalReason(d, r, call); reason != "" {
		return r, IneligibleError(reason)
	}
	return r, nil
}

// maxTTL is the longest lifetime of a rule, except one that holds until it is revoked.
const maxTTL = 365 * 24 * time.Hour

func validateDraft(tool string, d *schema.RuleDraft) error {
	fieldError := func(field, detail string) error { return &schema.FieldError{Field: field, Detail: detail} }
	switch {
	case d.From < 0 || d.From == 0 && d.Tool == "":
		return fieldError("from", "must be the id of a question, or tool must name the tool of a rule from scratch")
	case d.Then != schema.ThenAllow && d.Then != schema.ThenDeny:
		return fieldError("then", "must be allow or deny")
	case !slices.Contains([]string{schema.ScopeCall, schema.ScopeArguments, schema.ScopeWhen, schema.ScopeTool, schema.ScopeSession}, d.Scope):
		return fieldError("scope", "must be call, arguments, when, tool or session")
	case !slices.Contains([]string{schema.ReachSession, schema.ReachProject, schema.ReachAgent, schema.ReachEverywhere}, d.Reach):
		return fieldError("reach", "must be session, project, agent or everywhere")
	case d.Scope == schema.ScopeSession && d.Then != schema.ThenAllow:
		return fieldError("then", "must be allow with the scope session")
	case d.Scope == schema.ScopeSession && d.Reach != schema.ReachSession:
		return fieldError("reach", "must be session with the scope session")
	case d.Scope == schema.ScopeSession && d.TTLSeconds != nil && *d.TTLSeconds != int64(schema.AllowanceTTL.Seconds()):
		return fieldError("ttlSeconds", fmt.Sprintf("must be %.0f or absent with the scope session", schema.AllowanceTTL.Seconds()))
	case d.TTLSeconds != nil && (*d.TTLSeconds < 0 || *d.TTLSeconds > int64(maxTTL.Seconds())):
		return fieldError("ttlSeconds", fmt.Sprintf("must be from 0 (until it is revoked) to %d", int64(maxTTL.Seconds())))
	case len(d.Reason) > schema.MaxReason:
		return fieldError("reason", fmt.Sprintf("is longer than %d bytes", schema.MaxReason))
	case (d.Scope == schema.ScopeWhen) != (len(d.When) > 0):
		return fieldError("when", "must have at least one condition with the scope when, and none with another scope")
	case len(d.When) > schema.MaxConditions:
		return fieldError("when", fmt.Sprintf("has more than %d conditions", schema.MaxConditions))
	}
	if d.From == 0 {
		if err := validateScratch(d); err != nil {
			return err
		}
	}
	for i, c := range d.When {
		if _, err := compileCondition(tool, c, fmt.Sprintf("when.%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// refusalReason returns why the rule can't be made from this question, or "".
func refusalReason(d *schema.RuleDraft, r *schema.Rule, call *Call) string {
	if r.Scope == schema.ScopeSession { // the question only names the session
		if call.Session == "" {
			return noSession
		}
		return ""
	}
	if reason := IneligibleReason(call); reason != "" {
		return reason
	}
	switch {
	case strings.ContainsRune(call.Tool, '\x00'):
		return "The tool's name is not unique: it contains a NUL character."
	case call.Redacted && (d.Then == schema.ThenAllow || r.Call != ""):
		return "A part of this call was removed as a secret, so it can't be compared with other calls."
	case d.Then == schema.ThenAllow && call.args == nil && len(call.Arguments) > 0 && r.Call == "":
		return "The arguments of this call are ambiguous: they must be an object without duplicate names."
	case d.Reach == schema.ReachProject && r.Cwd == "":
		return "The agent did not report its working directory."
	case d.Reach == schema.ReachSession && call.Session == "":
		return noSession
	case r.Call != "":
		return ""
	case call.IsSample:
		return scratchRefusal(d, r, call)
	}
	if reason := conditionRefusal(d, call); reason != "" || d.Then == schema.ThenDeny {
		return reason
	}
	commands := newCommandRule(r, compileConditions(d, call.Tool))
	return commands.refusal(call)
}

const noSession = "The agent did not report its session."

// compileConditions compiles conditions that are known to be valid.
func compileConditions(d *schema.RuleDraft, tool string) []condition {
	list := make([]condition, len(d.When))
	for i, s := range d.When {
		list[i], _ = compileCondition(tool, s, "")
		list[i].forAllow = d.Then == schema.ThenAllow
	}
	return list
}

// conditionRefusal returns why the conditions don't match the call they were created from, or
// "".
func conditionRefusal(d *schema.RuleDraft, call *Call) string {
	conditions := compileConditions(d, call.Tool)
	for i := range conditions {
		s, c := &d.When[i], &conditions[i]
		switch c.evaluate(call) {
		case matcher.Match:
		case matcher.NoMatch:
			return fmt.Sprintf("The rule would not cover the question it is made from: %s has another value there.", displayName(s.Argument))
		default:
			value, _ := call.args.At(c.path...)
			if text, isText := value.Text(); isText && c.isCommand {
				if _, simple := call.commandWords(text); !simple {
					return notSimple
				}
			}
			return fmt.Sprintf("%s can't be compared reliably in this way.", displayName(s.Argument))
		}
	}
	return ""
}

// An allowance is the rule of the scope session: for 15 minutes it approves the calls of one session
// that are known to be harmless. A person sees each other call.

// isAllowable reports whether an allowance may approve the call. Call.Redacted was checked before.
func isAllowable(c *Call) bool {
	switch {
	case c.PolicyAsked, call.IsPlan(c.Tool), c.Class != schema.ClassHarmless, !isLow(c.AgentRisk), !isLow(c.HubRisk):
		return false
	}
	c.decodeArguments()
	return c.args != nil && !c.args.HasAmbiguousNames() // otherwise another call may run than the assessed one
}

func isLow(r schema.Risk) bool { return r == "" || r == schema.LowRisk }
