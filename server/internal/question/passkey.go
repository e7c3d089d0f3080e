package question

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// If the hub requires passkeys, every approval that the configured threshold covers needs a
// passkey assertion by its person for exactly this answer: the signed payload covers
// the question, the call in its current form, and the whole answer. The assertion is
// verified for the first snapshot alone, because it can be used only once. The transition
// checks that its own snapshot still matches the signed payload (requireAssertion).

// Assertion is the result of verifying the passkey assertion of an answer. The zero value is
// none.
type Assertion struct {
	IsPresent bool
	Proof     sign.PasskeyProof
	Err       error // why verification failed
}

// ChallengeText returns the text that a passkey signs for an answer that is valid now.
func (s *Snapshot) ChallengeText(r *schema.Response) ([]byte, error) {
	if s.Status.IsSettled() {
		return nil, SettledError(&s.Status)
	}
	if err := s.Ask.CheckResponse(r); err != nil {
		return nil, err
	}
	return s.SignedPayload(r)
}

// SignedPayload returns the text that a passkey signs: the question, its arguments after
// edits by voters, and the answer without its proof. See sign.PasskeyProof.
func (s *Snapshot) SignedPayload(r *schema.Response) ([]byte, error) {
	var edited int64
	if s.Status.Edited != nil {
		edited = s.Status.Edited.Revision
	}
	answer := *r
	answer.Proof = nil
	arguments := sha256.Sum256(s.arguments())
	// Member order and duplicate names are kept: two texts that some parser could read
	// as different answers are different here.
	text, err := json.Marshal([]any{s.env.HubID, s.UID, edited, hex.EncodeToString(arguments[:]), answer})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return text, nil
}

// requireAssertion rejects an answer that needs a passkey and has none, and records in
// by that it has one. Repeating an answer needs no second assertion.
func (s *Snapshot) requireAssertion(r *schema.Response, isPaired bool, by *responder, passkey Assertion) error {
	switch {
	case s.Status.IsSettled():
		return nil
	case passkey.Err != nil:
		return passkey.Err
	case passkey.IsPresent:
		text, err := s.SignedPayload(r)
		if err == nil && string(text) != passkey.Proof.Signed {
			err = &schema.StatusError{Err: schema.ErrStale, Status: s.Status}
		}
		by.Passkey = err == nil
		return err
	case !s.needsPasskey(r, isPaired || by.Via == "link" || isChat(by.Via)):
		return nil
	default:
		return &schema.HintError{Err: &schema.StatusError{Err: schema.ErrProofRequired, Status: s.Status}, Hint: passkeyHint(isPaired, by)}
	}
}

// withProof adds the assertion of an answer or vote to its change. It replaces an earlier
// one by the same person.
func (s *Snapshot) withProof(c *store.Change, proof sign.PasskeyProof) (*store.Change, error) {
	proofs, err := passkeyProofs(s.Question)
	if err != nil {
		return nil, err
	}
	proofs = slices.DeleteFunc(proofs, func(old sign.PasskeyProof) bool { return old.Person == proof.Person })
	if c.Proofs, err = json.Marshal(append(proofs, proof)); err != nil {
		return nil, fmt.Errorf("encode passkey assertion: %w", err)
	}
	return c, nil
}

// passkeyProofs returns the stored assertions of the question's answers and votes.
func passkeyProofs(q *store.Question) (proofs []sign.PasskeyProof, err error) {
	if q.Proofs == nil {
		return nil, nil
	}
	if err := json.Unmarshal(q.Proofs, &proofs); err != nil {
		return nil, fmt.Errorf("read stored passkey assertions of question %d: %w", q.ID, err)
	}
	return proofs, nil
}

// isChat reports whether an answer came through a chat service: by no other way that the hub knows.
func isChat(via string) bool {
	return !slices.Contains([]string{"", "session", "token", "proxy", "link", "rule"}, via)
}

// needsPasskey reports whether the answer allows something that the configured threshold
// covers. Edited arguments count, too: they may be riskier than the original ones. If weak is set, as
// for a paired device, a signed link or a chat, whose service could answer in the name of its users,
// every threshold covers a high risk.
func (s *Snapshot) needsPasskey(r *schema.Response, weak bool) bool {
	threshold := s.env.Accounts.Access().PasskeyThreshold
	if weak {
		threshold = threshold.AtLeastHigh()
	}
	if threshold == "" || strings.EqualFold(string(s.Ask.Outcome(r)), string(schema.Deny)) {
		return false
	}
	calls := []schema.Status{{Class: s.Status.Class, Risk: risk.Highest(s.Ask.Risk, []schema.Finding{{Risk: s.Status.Risk}})}}
	if c := s.Call(); c.Exists() && len(r.ModifiedArguments) > 0 {
		var st schema.Status
		c.With(r.ModifiedArguments).assess(&st, &s.Ask)
		calls = append(calls, st)
	}
	return slices.ContainsFunc(calls, func(c schema.Status) bool { return IsCovered(threshold, c.Class, c.Risk) })
}

// IsCovered reports whether approving a call of a class and a risk needs a passkey. A question that
// is about no call has no class, and is covered like an unknown one.
func IsCovered(threshold schema.PasskeyThreshold, class schema.Class, level schema.Risk) bool {
	switch {
	case threshold == "":
		return false
	case level == schema.CriticalRisk:
		return true
	case level == schema.HighRisk:
		return threshold != schema.PasskeyForCritical
	default:
		return threshold == schema.PasskeyForUnknown && (class != schema.ClassHarmless || level == schema.MediumRisk)
	}
}

func passkeyHint(isPaired bool, by *responder) string {
	switch {
	case !by.Verified:
		return "Sign in to the dashboard, add a passkey under Team, People, and answer there. Denying needs no passkey."
	case by.Via == "link":
		return "Approve this on a device with a passkey. A link can't show a passkey. Open the request in the dashboard and answer it there. Denying needs no passkey."
	case isPaired:
		return "Approve this on a device with a passkey. Denying needs no passkey."
	case isChat(by.Via):
		return "Approve this on a device with a passkey. A chat can't show one. Denying needs no passkey."
	default:
		return "Answer in the dashboard, which asks for your passkey. Add one under Team, People. Denying needs no passkey."
	}
}

// CountedProofs returns the assertions of the answer, or of the votes, that settled the
// question. Assertions of answers that were undone, and of votes that were changed or
// revoked, don't count.
func CountedProofs(q *store.Question, st *schema.Status) ([]sign.PasskeyProof, error) {
	proofs, err := passkeyProofs(q)
	return slices.DeleteFunc(proofs, func(p sign.PasskeyProof) bool {
		by := st.RespondedBy
		isAnswer := by != nil && by.Passkey && by.Name == p.Person
		return !isAnswer && !slices.ContainsFunc(st.Votes, func(v schema.Vote) bool { return v.Passkey && v.User == p.Person })
	}), err
}
