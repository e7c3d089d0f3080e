package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

// Where the hub asks for passkeys, whatever allows something of high risk comes with the
// proof that its person touched one for exactly this: what the device signs holds the
// question, the call as it stands, and the whole answer. The proof is looked at before
// the question is read to be changed, since it counts once; that what is asked is still
// what was signed for, the transition says (proven).

// assertion is what is known of the one that an answer came with.
type assertion struct {
	present bool
	digest  auth.AnswerDigest
	err     error // why it proves nothing
}

// Challenge is what the caller's passkey is to sign for an answer.
func (h *Hub) Challenge(ctx context.Context, req *schema.ChallengeRequest, caller Caller) (schema.PasskeyOptions, error) {
	if err := h.People.RequireOperator(caller.Who); err != nil {
		return schema.PasskeyOptions{}, err
	}
	s, err := h.readSnapshot(ctx, req.ID)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	if s.status.Settled() {
		return schema.PasskeyOptions{}, s.settledError()
	}
	if err := s.hitl.CheckResponse(&req.Response); err != nil {
		return schema.PasskeyOptions{}, err
	}
	digest, err := h.signedPayload(s, &req.Response)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	return h.People.Challenge(caller.Who, digest)
}

// signedPayload is an answer and what it answers, in all that counts: the question, the call as
// voters may have changed it, and every word of the answer but its proof.
func (h *Hub) signedPayload(s *snapshot, r *schema.Response) (auth.AnswerDigest, error) {
	var edited int64
	if s.status.Edited != nil {
		edited = s.status.Edited.Revision
	}
	answer := *r
	answer.Proof = nil
	arguments := sha256.Sum256(s.arguments())
	// Objects keep the order they came in, and names that are given twice: two texts that
	// some reader could take for different answers are different.
	text, err := json.Marshal([]any{h.Store.HubID(), s.UID, edited, hex.EncodeToString(arguments[:]), answer})
	if err != nil {
		return auth.AnswerDigest{}, fmt.Errorf("encoding the answer: %w", err)
	}
	return sha256.Sum256(text), nil
}

// verifyAssertion looks at the proof that an answer comes with.
func (h *Hub) verifyAssertion(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) (result assertion) {
	if len(r.Proof) == 0 {
		return result
	}
	result.present = true
	s, err := h.readSnapshot(ctx, id)
	if err == nil {
		result.digest, err = h.signedPayload(s, r)
	}
	if err == nil {
		err = h.People.VerifyAssertion(ctx, by, r.Proof, result.digest)
	}
	result.err = err
	return result
}

// requireAssertion refuses an answer that needs a passkey and has none, and notes in by that it
// has one. A repeated answer needs no other proof.
func (h *Hub) requireAssertion(s *snapshot, r *schema.Response, by *schema.Responder, proof assertion) error {
	switch {
	case s.status.Settled():
		return nil
	case proof.err != nil:
		return proof.err
	case proof.present:
		digest, err := h.signedPayload(s, r)
		if err == nil && digest != proof.digest {
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

// needsPasskey reports whether an answer allows something so risky. What it makes of the
// call counts, too: an edit may be worse than what was asked.
func (h *Hub) needsPasskey(s *snapshot, r *schema.Response) bool {
	threshold := h.People.PasskeyMinRisk()
	if threshold == "" || strings.EqualFold(string(s.hitl.Outcome(r)), string(schema.Deny)) {
		return false
	}
	risks := []schema.Risk{s.status.Risk, s.hitl.Risk}
	if c, ok := toolCallOf(&store.EventDraft{Event: s.Event}, &s.hitl); ok && len(r.ModifiedArguments) > 0 {
		c.arguments = r.ModifiedArguments
		var st schema.Status
		assessCall(&st, &s.hitl, c)
		risks = append(risks, st.Risk)
	}
	for _, level := range risks {
		if risk.Highest(level, []schema.Finding{{Risk: threshold}}) == level {
			return true
		}
	}
	return false
}

func (h *Hub) passkeyHint(by *schema.Responder) string {
	switch {
	case !by.Verified:
		return "Sign in to the dashboard, add a passkey under Settings, People, and answer there. To deny it needs none."
	case by.Via == "link":
		return "A link can't show a passkey: open the request in the dashboard, and answer it there. To deny it needs none."
	default:
		return "Answer it in the dashboard, which asks for your passkey; add one under Settings, People. To deny it needs none."
	}
}
