// Package sign has the messages that a hub signs and keeps as proof: the statement of a
// decision, receipts, the entries of the audit log, and the hub's keys.
package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"

	"github.com/hookback/hookback/schema"
)

// The types of a Statement.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	DecisionType  = "https://github.com/hookback/hookback/decision/v1"
)

// The names of a statement's subjects.
const (
	AskSubject = "ask" // AskDigest of the question; always present
	// QuestionSubject has the SHA-256 of the question's text as people saw it, after redaction. A
	// statement without it is of a hub that did not show people the commit.
	QuestionSubject = "question"
	CallSubject     = "call"   // CallDigest of the call as asked; absent without a tool call, and if redaction removed part of it
	CommitSubject   = "commit" // Context.Commit, which people saw, under the algorithm gitCommit
	// ConsequenceSubject has the ConsequenceDigest of ToolCall.Consequence, which people saw.
	ConsequenceSubject = "consequence"
)

// Statement is an in-toto statement that a hub signs when a question ends: the decision, and the
// digests of the question that it answers. See https://in-toto.io/Statement/v1.
type Statement struct {
	Type          string         `json:"_type"` // StatementType
	Subject       []Subject      `json:"subject"`
	PredicateType string         `json:"predicateType"` // DecisionType
	Predicate     SignedDecision `json:"predicate"`
}

// Subject names one thing that a Statement is about by its digest.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"` // algorithm (sha256, gitCommit) → hex
}

// Digest returns the hex digest of the subject with this name, or "" if there is none.
func (s *Statement) Digest(name, algorithm string) string {
	for _, subject := range s.Subject {
		if subject.Name == name {
			return subject.Digest[algorithm]
		}
	}
	return ""
}

// SignedDecision is the predicate of a Statement: the resolution of a question. An agent takes every
// value of its decision from it.
type SignedDecision struct {
	Hub      string         `json:"hub"`   // hubId
	Event    string         `json:"event"` // uid of the event
	EventID  schema.EventID `json:"eventId"`
	AnswerID string         `json:"answerId"`
	App      string         `json:"app"`
	Session  string         `json:"session"`
	// Requester sent the question: a person with their own token, or agent:NAME. It is empty if
	// the question came without a token, and in a statement without the subject question.
	Requester         string            `json:"requester,omitempty"`
	Tool              string            `json:"tool,omitempty"`
	Answer            SignedAnswer      `json:"answer"`
	Outcome           schema.Outcome    `json:"outcome"`
	Source            schema.EndedBy    `json:"source"`
	RespondedAt       schema.Millis     `json:"respondedAt"`
	RespondedBy       *schema.Responder `json:"respondedBy,omitempty"`
	Votes             []schema.Vote     `json:"votes,omitempty"`
	Awaiting          []string          `json:"awaiting,omitempty"`
	RequiredApprovals int               `json:"requiredApprovals,omitempty"`
	Rule              *schema.RuleRef   `json:"rule,omitempty"`
	Guidance          string            `json:"guidance,omitempty"`
	Class             schema.Class      `json:"class,omitempty"`
	Risk              schema.Risk       `json:"risk,omitempty"`
}

// SignedAnswer is the content of an answer, whole. See Answer for its members.
type SignedAnswer struct {
	Permission        *bool                      `json:"permission,omitempty"`
	Response          *string                    `json:"response,omitempty"`
	Choice            *string                    `json:"choice,omitempty"`
	Answers           map[string]json.RawMessage `json:"answers,omitempty"`
	Reason            string                     `json:"reason,omitempty"`
	Comment           string                     `json:"comment,omitempty"`
	ModifiedArguments json.RawMessage            `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	Remember          json.RawMessage            `json:"remember,omitempty"`
	Interrupt         bool                       `json:"interrupt,omitempty"`
	AskBack           string                     `json:"askBack,omitempty"`
}

// Receipt is the body of GET /events/:id/receipt: the proof of who decided.
type Receipt struct {
	Envelope schema.Envelope `json:"envelope"` // of type StatementPayload
	// Question is the text of the question. It counts only if it has the digest of the subject
	// question: a frame has no room for a second copy of a long text.
	Question string `json:"question,omitempty"`
	// Consequence counts only if it has the digest of the subject consequence.
	Consequence *schema.Consequence `json:"consequence,omitempty"`
	Proofs      []PasskeyProof      `json:"proofs,omitempty"`
	LedgerEntry *LedgerEntry        `json:"ledgerEntry,omitempty"` // the entry question.ended
}

// PasskeyProof is a WebAuthn assertion of a person's passkey for their answer or vote.
type PasskeyProof struct {
	Person       string `json:"person"`
	CredentialID string `json:"credentialId"` // base64url
	// PublicKey is the credential's key in PKIX form, base64. That it belongs to Person is the hub's
	// word.
	PublicKey         string `json:"publicKey"`
	AuthenticatorData string `json:"authenticatorData"` // base64url
	ClientDataJSON    string `json:"clientDataJSON"`    // base64url
	Signature         string `json:"signature"`         // base64url
	// Signed is the text that the challenge covers: a JSON array of the hubId, the event's uid, the
	// revision of an edit or 0, the SHA-256 of the arguments in hex, and the Response without its
	// proof. See PasskeyChallenge.
	Signed string `json:"signed"`
	Nonce  string `json:"nonce"` // of the challenge, base64url
}

// PasskeyChallenge returns the WebAuthn challenge that binds an assertion to one answer by one
// person: SHA-256(SHA-256(signed) nonce person). The nonce has 32 bytes.
func PasskeyChallenge(signed [sha256.Size]byte, nonce []byte, person string) []byte {
	h := sha256.New()
	h.Write(signed[:])
	h.Write(nonce) // has a fixed length, so the concatenation is unambiguous
	h.Write([]byte(person))
	return h.Sum(nil)
}

// AskParts are the parts of an event that identify a question. Names are decoded; Payload and
// HumanInTheLoop are the bytes of their JSON values as sent.
type AskParts struct {
	SourceApp, SessionID, HookEventType, ToolName string
	Payload, HumanInTheLoop                       []byte
}

// Digest returns the SHA-256 that binds an answer to its question:
//
//	SHA-256("hookback ask 1\n" P(source_app) P(session_id) P(hook_event_type) P(tool_name) P(payload) P(name) P(value) …)
//
// P(x) is the length of x as 8 bytes, big endian, followed by x. Names are decoded UTF-8, and an
// absent one is empty. The members of humanInTheLoop follow in the order sent, each value as the
// bytes sent. responseWebSocketUrl, listenerKey and requestSecret are left out in every spelling, so
// an agent that resumes with a new listener asks the same question.
func (p AskParts) Digest() ([sha256.Size]byte, error) {
	h := sha256.New()
	h.Write([]byte("hookback ask 1\n"))
	for _, part := range []string{p.SourceApp, p.SessionID, p.HookEventType, p.ToolName} {
		writePart(h, []byte(part))
	}
	writePart(h, p.Payload)
	err := eachMember(p.HumanInTheLoop, func(name string, value json.RawMessage) error {
		if !schema.IsSecretMember(name) {
			writePart(h, []byte(name))
			writePart(h, value)
		}
		return nil
	})
	return [sha256.Size]byte(h.Sum(nil)), err
}

func writePart(h hash.Hash, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	h.Write(length[:])
	h.Write(part)
}

// AskDigest returns the digest of the question in a posted event; see AskParts.Digest.
func AskDigest(event []byte) ([sha256.Size]byte, error) {
	var p AskParts
	texts := map[string]*string{
		"source_app": &p.SourceApp, "session_id": &p.SessionID, "hook_event_type": &p.HookEventType, "tool_name": &p.ToolName,
	}
	err := eachMember(event, func(name string, value json.RawMessage) error {
		switch text := texts[name]; {
		case text != nil && json.Unmarshal(value, text) != nil:
			return &schema.FieldError{Field: name, Detail: "must be a string"}
		case name == "payload":
			p.Payload = value
		case name == "humanInTheLoop":
			p.HumanInTheLoop = value
		}
		return nil
	})
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return p.Digest()
}

// eachMember calls fn with the decoded name and the bytes of each member of a JSON object, in order.
func eachMember(object []byte, fn func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return &schema.FieldError{Detail: "must be a JSON object"}
	}
	for dec.More() {
		token, err := dec.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err == nil && isName {
			err = dec.Decode(&value)
		}
		if err != nil || !isName {
			return &schema.FieldError{Detail: "is not valid JSON"}
		}
		if err := fn(name, value); err != nil {
			return err
		}
	}
	return nil
}
