package fakehub

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// hubID is the id of every fake hub.
const hubID = "fake-hub"

// NewKey returns a new hub key.
func NewKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // never: the system's random source does not fail
	}
	return key
}

// KeyID returns the id of the hub's key.
func (h *Hub) KeyID() string { return schema.KeyID(h.Key.Public().(ed25519.PublicKey)) }

// PinLine returns the line of a pin file that pins the hub's key for its address.
func (h *Hub) PinLine() string { return h.PinLineFor(h.URL()) }

// PinLineFor returns the line of a pin file that pins the hub's key for another address.
func (h *Hub) PinLineFor(origin string) string { return origin + " ed25519 " + h.PublicKey() + "\n" }

// PublicKey returns the hub's public key in base64.
func (h *Hub) PublicKey() string { return sign.FormatPublicKey(h.Key.Public().(ed25519.PublicKey)) }

// WritePins writes a pin file with these lines.
func WritePins(file string, lines ...string) error {
	text := ""
	for _, line := range lines {
		text += line
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// Rotate replaces the hub's key by a new one, signed with the old one. It is called before
// Start or while the hub is stopped.
func (h *Hub) Rotate() {
	next := NewKey()
	payload, err := json.Marshal(sign.KeyRotation{HubID: hubID, From: h.KeyID(), PublicKey: sign.FormatPublicKey(next.Public().(ed25519.PublicKey))})
	if err != nil {
		panic(err)
	}
	h.Rotations = append(h.Rotations, schema.SignEnvelope(schema.RotationPayload, payload, h.Key))
	h.Key = next
}

// identity serves GET /api/hub.
func (h *Hub) identity(w http.ResponseWriter, r *http.Request) {
	if h.Key == nil {
		writeProblem(w, schema.ErrNoRoute)
		return
	}
	identity := sign.HubKey{HubID: hubID, KeyID: h.KeyID(), PublicKey: h.PublicKey(), Rotations: h.Rotations}
	if nonce := r.URL.Query().Get("nonce"); nonce != "" {
		payload, err := json.Marshal(sign.HubHello{HubID: hubID, KeyID: identity.KeyID, Nonce: nonce})
		if err != nil {
			panic(err)
		}
		proof := schema.SignEnvelope(schema.HelloPayload, payload, h.Key)
		identity.Proof = &proof
	}
	writeJSON(w, identity)
}

// Seal returns the signed form of an answer to this question.
func (q *Question) Seal(a schema.Answer) schema.Envelope { return q.Sign(q.Statement(a)) }

// Sign signs a statement with the hub's key.
func (q *Question) Sign(s sign.Statement) schema.Envelope {
	payload, err := json.Marshal(s)
	if err != nil {
		panic(err) // the test passed invalid JSON
	}
	return schema.SignEnvelope(schema.StatementPayload, payload, q.hub.Key)
}

// Statement returns the statement of a hub about an answer to this question.
func (q *Question) Statement(a schema.Answer) sign.Statement {
	return sign.Statement{
		Type: sign.StatementType, PredicateType: sign.DecisionType,
		Subject: []sign.Subject{{Name: sign.AskSubject, Digest: map[string]string{"sha256": hex.EncodeToString(q.digest[:])}}},
		Predicate: sign.SignedDecision{
			Hub: hubID, Event: q.UID, EventID: q.ID, AnswerID: a.AnswerID, App: q.SourceApp, Session: q.SessionID, Tool: q.ToolName,
			Answer: sign.SignedAnswer{
				Permission: a.Permission, Response: a.Response, Choice: a.Choice, Answers: a.Answers,
				Reason: a.Reason, Comment: a.Comment, ModifiedArguments: a.ModifiedArguments, Remember: a.Remember,
			},
			Outcome: a.Outcome, Source: a.Source, RespondedAt: a.RespondedAt, RespondedBy: a.RespondedBy,
			Votes: a.Votes, Awaiting: a.Awaiting, RequiredApprovals: a.RequiredApprovals, Guidance: a.Guidance,
		},
	}
}
