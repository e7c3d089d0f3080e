package hookrun

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
)

// accepts returns the parts of a directive that the hook can apply.
func (h *hookRun) accepts(c *hook.Call) control.Accepts {
	if h.observe {
		return control.Accepts{}
	}
	return c.Accepts()
}

// applyDirective returns the verdict after the hub's directive.
func (h *hookRun) applyDirective(c *hook.Call, d *control.Directive, v hook.Verdict) hook.Verdict {
	if d != nil && d.Grant != nil {
		if err := h.checkGrant(c, d.Grant); err != nil {
			h.logf("grant of request %d not honored: %v", d.Grant.Question, err)
			allowed := *d
			allowed.Grant, d = nil, &allowed
		}
	}
	return c.Apply(d, v)
}

// How old the signed approval of an appeal may be, and that of a call without which the agent has continued: the
// lifetime of its grant and a difference between two clocks.
const (
	maxGrantAge      = 6 * time.Minute
	maxLaterGrantAge = time.Hour + time.Minute
)

// checkGrant returns why a grant does not count. It counts only from the address in the hook's own
// command line, because the environment must not be able to approve. If the account trusts a hub,
// that hub must have signed the approval of exactly this call.
func (h *hookRun) checkGrant(c *hook.Call, g *control.Grant) error {
	trust, isSigned, err := h.grantTrust()
	if err == nil {
		err = h.checkRepeatedCall(c, g)
	}
	if err != nil || !isSigned {
		return err
	}
	if g.Approval == nil {
		return errors.New("the hub did not sign it")
	}
	if err := trust.Verify(g.Approval); err != nil {
		return err
	}
	return h.checkApproval(c, g.Approval.Payload)
}

// grantTrust returns the keys of which one must have signed an approval, if any must. It fails if no grant counts here.
func (h *hookRun) grantTrust() (trust *agentclient.Trust, isSigned bool, err error) {
	flags := h.selectHub()
	if flags.Hub == "" {
		return nil, false, errors.New("the hub's address is not in the hook's command line; run hookback install again")
	}
	hubs, err := flags.Hubs()
	if err != nil {
		return nil, false, err
	}
	if trust, err = agentclient.LoadTrust(flags.Options()); err != nil {
		return nil, false, err
	}
	isSigned = len(trust.Pins()) > 0 && !flags.Unsigned
	for _, hub := range hubs {
		u, err := url.Parse(hub)
		isLocal := err == nil && (u.Scheme == socket.Scheme || socket.IsDirect(u))
		// The environment names the proxy and the certificate authorities of HTTPS.
		if !isLocal && (err != nil || u.Scheme != "https" || !isSigned) {
			return nil, false, errors.New("the address " + hub + " is not on this machine, and its hub is not trusted over HTTPS (hookback trust)")
		}
	}
	return trust, isSigned, nil
}

// checkApproval returns why a signed statement does not approve this call.
func (h *hookRun) checkApproval(c *hook.Call, payload []byte) error {
	var s sign.Statement
	if json.Unmarshal(payload, &s) != nil || s.Type != sign.StatementType || s.PredicateType != sign.DecisionType {
		return errors.New("its signed approval can't be read")
	}
	digest := sign.CallDigest(c.Event.ToolName, c.Tool.Arguments)
	d := &s.Predicate
	age, maxAge := h.started.Sub(time.UnixMilli(int64(d.RespondedAt))), maxGrantAge
	if c.AsksLater {
		maxAge = maxLaterGrantAge
	}
	switch {
	case s.Digest(sign.CallSubject, "sha256") != hex.EncodeToString(digest[:]):
		return errors.New("the signed approval is for another call, or its call was redacted")
	case d.Outcome != schema.Approve || d.Answer.Permission == nil || !*d.Answer.Permission || d.Session != c.Event.SessionID:
		return errors.New("the signed statement is no approval for this session")
	case age.Abs() > maxAge:
		return errors.New("the signed approval is too old")
	default:
		return nil
	}
}
