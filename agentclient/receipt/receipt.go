// Package receipt verifies receipts: the signed proof of who decided a question, and of what was
// asked. It needs no hub and no network, so a CI job can verify that a person approved a deployment.
//
// A receipt comes from GET /events/:id/receipt, hookback receipt get, or hookback ask --receipt.
package receipt

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// ErrUnmet is wrapped by the errors of a readable receipt that does not meet the requirements.
var ErrUnmet = errors.New("the receipt does not hold")

// Requirements are the conditions that a receipt must meet in addition to a valid signature and the
// outcome approve. The zero value requires that a person whose name the hub verified approved, other
// than the requester. Keys is required.
type Requirements struct {
	Keys []ed25519.PublicKey // the hubs that are trusted; one of them must have signed

	// Question is the exact text of the question, and App the source_app that asked it. Both are
	// the requester's choice, like Commit: without Question, any question about the commit counts.
	Question, App string

	AllowRule       bool // a rule may have approved instead of a person
	AllowUnverified bool // the hub need not have verified the person's name
	AllowSelf       bool // the person may be the requester

	// Approvers are names that must each have approved, verified by the hub. AllowSelf applies to
	// them, AllowRule and AllowUnverified do not.
	Approvers []string
	// Passkey requires that each of Approvers confirmed their answer with a passkey; without
	// Approvers, that each person who approved did. The assertions are verified.
	Passkey bool
	// PersonKeys are the passkeys that people must have used, in PKIX form. For a person without
	// one, the hub's word binds the passkey to the name.
	PersonKeys map[string][]byte

	Call   *Call         // the exact tool call
	Commit string        // the Git commit that the question named and the hub showed
	MaxAge time.Duration // the longest time since the decision
	Now    time.Time     // for MaxAge; default: the current time
}

// Call is a tool call. Arguments is its JSON text.
type Call struct {
	Tool      string
	Arguments []byte
}

// Approver is a person who approved.
type Approver struct {
	Name     string
	Verified bool   // the hub verified the name
	Via      string // how; see schema.Responder
	Passkey  bool   // a passkey assertion for this answer is valid
	Bound    bool   // the passkey is one of Requirements.PersonKeys
	// Self reports whether the person is the requester, or answered from a program that the
	// requester started.
	Self bool
}

// Result is the content of a receipt that holds.
type Result struct {
	KeyID     string
	Decision  sign.SignedDecision
	Approvers []Approver
	Question  string // empty: not recorded, because the hub is an older one
	Commit    string // empty: the question named none; unless Question is empty, people saw it
	// Consequence is the effect of the call, as people saw it; nil: not recorded.
	Consequence *schema.Consequence
	Entry       *sign.LedgerEntry // checked against the statement; nil if the receipt has none
}

func unmet(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnmet, fmt.Sprintf(format, args...))
}

// Verify checks a receipt. An error wraps ErrUnmet if the receipt is readable and a condition does
// not hold.
func Verify(r *sign.Receipt, need Requirements) (Result, error) {
	statement, keyID, err := openStatement(&r.Envelope, need.Keys)
	if err != nil {
		return Result{}, err
	}
	out := Result{
		KeyID: keyID, Decision: statement.Predicate, Entry: r.LedgerEntry,
		Commit: statement.Digest(sign.CommitSubject, "gitCommit"),
	}
	if out.Question, err = questionText(r, statement); err != nil {
		return out, err
	}
	if out.Consequence, err = signedConsequence(r, statement); err != nil {
		return out, err
	}
	if yes := out.Decision.Answer.Permission; out.Decision.Outcome != schema.Approve || yes == nil || !*yes {
		return out, unmet("the outcome is %s, not an approved permission", out.Decision.Outcome)
	}
	out.Approvers = approvers(&out.Decision)
	if err := out.checkProofs(r.Proofs, need.PersonKeys); err != nil {
		return out, err
	}
	for _, check := range []func() error{
		func() error { return out.checkApprovers(&need) },
		func() error { return checkCall(statement, need.Call) },
		func() error { return out.checkQuestion(&need) },
		func() error { return out.checkAge(&need) },
		func() error { return out.checkEntry(r.Envelope.Payload, statement) },
	} {
		if err := check(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// openStatement verifies the signature and decodes the statement.
func openStatement(e *schema.Envelope, keys []ed25519.PublicKey) (*sign.Statement, string, error) {
	if len(keys) == 0 {
		return nil, "", errors.New("no hub key is trusted")
	}
	keyID, failure := "", error(nil)
	for _, key := range keys {
		err := e.Verify(schema.StatementPayload, key)
		if err == nil {
			keyID = schema.KeyID(key)
			break
		}
		if failure == nil || errors.Is(err, schema.ErrBadSignature) {
			failure = err
		}
	}
	if keyID == "" {
		return nil, "", unmet("%v: it is signed by %s", failure, signers(e))
	}
	var s sign.Statement
	if err := json.Unmarshal(e.Payload, &s); err != nil {
		return nil, "", fmt.Errorf("decode statement: %w", err)
	}
	if s.Type != sign.StatementType || s.PredicateType != sign.DecisionType {
		return nil, "", unmet("the signed statement is not a decision")
	}
	return &s, keyID, nil
}

// questionText returns the text of the question, or "" if the statement records none.
func questionText(r *sign.Receipt, s *sign.Statement) (string, error) {
	signed := s.Digest(sign.QuestionSubject, "sha256")
	sum := sha256.Sum256([]byte(r.Question))
	switch {
	case signed == "":
		return "", nil // an unsigned text proves nothing
	case signed != hex.EncodeToString(sum[:]):
		return "", unmet("its text of the question is not the signed one")
	default:
		return r.Question, nil
	}
}

// signedConsequence returns the effect of the call, or nil if the statement records nothing.
func signedConsequence(r *sign.Receipt, s *sign.Statement) (*schema.Consequence, error) {
	signed := s.Digest(sign.ConsequenceSubject, "sha256")
	if signed == "" {
		return nil, nil // an unsigned one proves nothing
	}
	if digest := sign.ConsequenceDigest(r.Consequence); signed != hex.EncodeToString(digest[:]) {
		return nil, unmet("its consequence of the call is not the signed one")
	}
	return r.Consequence, nil
}

func signers(e *schema.Envelope) string {
	ids := make([]string, len(e.Signatures))
	for i, s := range e.Signatures {
		ids[i] = fmt.Sprintf("%.16q", s.KeyID)
	}
	if len(ids) == 0 {
		return "no key"
	}
	return "key " + strings.Join(ids, ", ")
}

// approvers returns the people whose answer or vote approved.
func approvers(d *sign.SignedDecision) (list []Approver) {
	by := d.RespondedBy
	isRequester := func(name string) bool { return d.Requester != "" && strings.EqualFold(d.Requester, name) }
	for _, v := range d.Votes { // only people with an account can vote
		if v.Choice == string(schema.Approve) {
			a := Approver{Name: v.User, Verified: true, Self: isRequester(v.User)}
			if by != nil && by.Name == v.User {
				a.Via, a.Self = by.Via, a.Self || by.SelfApproval
			}
			list = append(list, a)
		}
	}
	if len(d.Votes) == 0 && by != nil && d.Source != schema.ByRule {
		self := isRequester(by.Name) || by.SelfApproval
		list = append(list, Approver{Name: by.Name, Verified: by.Verified, Via: by.Via, Self: self})
	}
	return list
}

func (r *Result) find(name string) *Approver {
	i := slices.IndexFunc(r.Approvers, func(a Approver) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Approvers[i]
}

// checkApprovers checks the required people and passkeys.
func (r *Result) checkApprovers(need *Requirements) error {
	for _, name := range need.Approvers {
		a := r.find(name)
		if a == nil {
			return unmet("%s did not approve", name)
		}
		if err := a.check(false, need.AllowSelf); err != nil {
			return err
		}
	}
	if len(need.Approvers) == 0 {
		if err := r.checkAnyApprover(need); err != nil {
			return err
		}
	}
	if need.Passkey {
		return r.checkPasskeys(need.Approvers)
	}
	return nil
}

// checkAnyApprover checks that the approval of one person counts, or that of a rule.
func (r *Result) checkAnyApprover(need *Requirements) error {
	switch {
	case r.Decision.Source == schema.ByRule && need.AllowRule:
		return nil
	case r.Decision.Source == schema.ByRule:
		return unmet("a rule approved, and no person")
	case len(r.Approvers) == 0:
		return unmet("no person approved")
	}
	var err error
	for i := range r.Approvers {
		if err = r.Approvers[i].check(need.AllowUnverified, need.AllowSelf); err == nil {
			break
		}
	}
	return err
}

// check returns why the person's approval does not count.
func (a *Approver) check(allowUnverified, allowSelf bool) error {
	switch {
	case !a.Verified && !allowUnverified:
		return unmet("the name %s is not verified", a.Name)
	case a.Self && !allowSelf:
		return unmet("%s is the requester, or answered from a program that the requester started", a.Name)
	default:
		return nil
	}
}

// checkPasskeys checks that these people confirmed with a passkey; without names, all who approved.
func (r *Result) checkPasskeys(names []string) error {
	if len(names) == 0 {
		for _, a := range r.Approvers {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return unmet("no person approved, so no passkey did")
	}
	for _, name := range names {
		if !r.find(name).Passkey {
			return unmet("%s did not confirm with a passkey", name)
		}
	}
	return nil
}

// checkCall compares the call that runs: the approver's edit, else the call as asked.
func checkCall(s *sign.Statement, call *Call) error {
	if call == nil {
		return nil
	}
	asked := s.Digest(sign.CallSubject, "sha256")
	if edited := s.Predicate.Answer.ModifiedArguments; len(edited) > 0 {
		digest := sign.CallDigest(s.Predicate.Tool, edited)
		asked = hex.EncodeToString(digest[:])
	}
	digest := sign.CallDigest(call.Tool, call.Arguments)
	switch {
	case asked == "":
		return unmet("the decision is about no tool call")
	case asked != hex.EncodeToString(digest[:]):
		return unmet("the decision is about another call than %s with these arguments", call.Tool)
	default:
		return nil
	}
}

// checkQuestion checks the facts that people saw: the app, the question and the commit.
func (r *Result) checkQuestion(need *Requirements) error {
	switch {
	case need.App != "" && r.Decision.App != need.App:
		return unmet("the question is of the app %q, not %q", r.Decision.App, need.App)
	case need.Question+need.Commit != "" && r.Question == "":
		return unmet("it does not record the question: its hub is an older one, which showed no one the commit")
	case need.Question != "" && r.Question != need.Question:
		return unmet("the question is %q, not %q", r.Question, need.Question)
	case need.Commit != "" && r.Commit != need.Commit:
		return unmet("the decision is about commit %s, not %s", cmp.Or(r.Commit, "none"), need.Commit)
	default:
		return nil
	}
}

func (r *Result) checkAge(need *Requirements) error {
	if need.MaxAge <= 0 {
		return nil
	}
	now := need.Now
	if now.IsZero() {
		now = time.Now()
	}
	at := time.UnixMilli(int64(r.Decision.RespondedAt))
	if age := now.Sub(at); age > need.MaxAge {
		return unmet("the decision is %v old, more than %v", age.Round(time.Second), need.MaxAge)
	}
	return nil
}

// checkEntry checks that the ledger entry is the one of this statement.
func (r *Result) checkEntry(payload []byte, s *sign.Statement) error {
	if r.Entry == nil {
		return nil
	}
	line, err := json.Marshal(r.Entry)
	if err != nil {
		return fmt.Errorf("encode ledger entry: %w", err)
	}
	before := sign.LedgerCheck{N: r.Entry.N - 1, Head: r.Entry.Prev}
	if before.N == 0 {
		before.Head = sign.FirstPrev
	}
	if err := before.Next(line); err != nil {
		return unmet("%v", err)
	}
	var data struct {
		Ask       string `json:"ask"`
		Statement string `json:"statement"`
	}
	if err := json.Unmarshal(r.Entry.Data, &data); err != nil {
		return fmt.Errorf("decode ledger entry: %w", err)
	}
	sum := sha256.Sum256(payload)
	if data.Statement != hex.EncodeToString(sum[:]) || data.Ask != s.Digest(sign.AskSubject, "sha256") {
		return unmet("audit log entry %d is about another decision", r.Entry.N)
	}
	return nil
}
