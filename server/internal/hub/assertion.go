package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// If the hub requires passkeys, every approval that the configured threshold covers needs a
// passkey assertion by its person for exactly this answer: the signed payload covers
// the question, the call in its current form, and the whole answer. The assertion is
// verified before the transition, because it can be used only once. The transition
// checks that the question still matches the signed payload (requireAssertion).

// assertion is the result of verifying the passkey assertion of an answer.
type assertion struct {
	present bool
	proof   schema.PasskeyProof
	err     error // why verification failed
}

// Challenge returns the options with which the caller's passkey signs an answer.
func (h *Hub) Challenge(ctx context.Context, req *schema.ChallengeRequest, caller Caller) (schema.PasskeyOptions, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return schema.PasskeyOptions{}, err
	}
	s, err := h.readSnapshot(ctx, req.ID)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	if s.status.IsSettled() {
		return schema.PasskeyOptions{}, s.settledError()
	}
	if err := s.hitl.CheckResponse(&req.Response); err != nil {
		return schema.PasskeyOptions{}, err
	}
	text, err := h.signedPayload(s, &req.Response)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	return h.People.Challenge(caller.Identity, sha256.Sum256(text))
}

// signedPayload returns the text that a passkey signs: the question, its arguments after
// edits by voters, and the answer without its proof. See schema.PasskeyProof.
func (h *Hub) signedPayload(s *snapshot, r *schema.Response) ([]byte, error) {
	var edited int64
	if s.status.Edited != nil {
		edited = s.status.Edited.Revision
	}
	answer := *r
	answer.Proof = nil
	arguments := sha256.Sum256(s.arguments())
	// Member order and duplicate names are kept: two texts that some parser could read
	// as different answers are different here.
	text, err := json.Marshal([]any{h.Store.HubID(), s.UID, edited, hex.EncodeToString(arguments[:]), answer})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return text, nil
}

// verifyAssertion verifies the assertion that comes with an answer.
func (h *Hub) verifyAssertion(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) (result assertion) {
	if len(r.Proof) == 0 {
		return result
	}
	result.present = true
	s, err := h.readSnapshot(ctx, id)
	var text []byte
	if err == nil {
		text, err = h.signedPayload(s, r)
	}
	if err == nil {
		result.proof, err = h.People.VerifyAssertion(ctx, by, r.Proof, sha256.Sum256(text))
		result.proof.Signed = string(text)
	}
	result.err = err
	return result
}

// requireAssertion rejects an answer that needs a passkey and has none, and records in
// by that it has one. Repeating an answer needs no second assertion.
func (h *Hub) requireAssertion(s *snapshot, r *schema.Response, by *schema.Responder, proof assertion) error {
	switch {
	case s.status.IsSettled():
		return nil
	case proof.err != nil:
		return proof.err
	case proof.present:
		text, err := h.signedPayload(s, r)
		if err == nil && string(text) != proof.proof.Signed {
			err = &schema.StatusError{Err: schema.ErrStale, Status: s.status}
		}
		by.Passkey = err == nil
		return err
	case !h.needsPasskey(s, r):
		return nil
	default:
		return &schema.HintError{Err: &schema.StatusError{Err: schema.ErrProofRequired, Status: s.status}, Hint: h.passkeyHint(by)}
	}
}

// withProof adds the assertion of an answer or vote to its change. It replaces an earlier
// one by the same person.
func (s *snapshot) withProof(c *store.Change, proof schema.PasskeyProof) (*store.Change, error) {
	proofs, err := s.passkeyProofs()
	if err != nil {
		return nil, err
	}
	proofs = slices.DeleteFunc(proofs, func(old schema.PasskeyProof) bool { return old.Person == proof.Person })
	if c.Proofs, err = json.Marshal(append(proofs, proof)); err != nil {
		return nil, fmt.Errorf("encode passkey assertion: %w", err)
	}
	return c, nil
}

// passkeyProofs returns the stored assertions of the question's answers and votes.
func (s *snapshot) passkeyProofs() (proofs []schema.PasskeyProof, err error) {
	if s.Proofs == nil {
		return nil, nil
	}
	if err := json.Unmarshal(s.Proofs, &proofs); err != nil {
		return nil, fmt.Errorf("read stored passkey assertions of question %d: %w", s.ID, err)
	}
	return proofs, nil
}

// needsPasskey reports whether the answer allows something that the configured threshold
// covers. Edited arguments count, too: they may be riskier than the original ones.
func (h *Hub) needsPasskey(s *snapshot, r *schema.Response) bool {
	threshold := h.People.PasskeyThreshold()
	if threshold == "" || strings.EqualFold(string(s.hitl.Outcome(r)), string(schema.Deny)) {
		return false
	}
	calls := []schema.Status{{Class: s.status.Class, Risk: risk.Highest(s.hitl.Risk, []schema.Finding{{Risk: s.status.Risk}})}}
	if c, ok := toolCallOf(&store.EventDraft{Event: s.Event}, &s.hitl); ok && len(r.ModifiedArguments) > 0 {
		c.arguments = r.ModifiedArguments
		var st schema.Status
		assessCall(&st, &s.hitl, c)
		calls = append(calls, st)
	}
	return slices.ContainsFunc(calls, func(c schema.Status) bool { return isCovered(threshold, c.Class, c.Risk) })
}

// isCovered reports whether approving a call of a class and a risk needs a passkey. A question that
// is about no call has no class, and is covered like an unknown one.
func isCovered(threshold schema.PasskeyThreshold, class schema.Class, level schema.Risk) bool {
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

func (h *Hub) passkeyHint(by *schema.Responder) string {
	switch {
	case !by.Verified:
		return "Sign in to the dashboard, add a passkey under Settings, People, and answer there. Denying needs no passkey."
	case by.Via == "link":
		return "A link can't show a passkey. Open the request in the dashboard and answer it there. Denying needs no passkey."
	default:
		return "Answer in the dashboard, which asks for your passkey. Add one under Settings, People. Denying needs no passkey."
	}
}
