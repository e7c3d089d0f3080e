package schema

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
)

// The payload types of an Envelope.
const (
	StatementPayload = "application/vnd.in-toto+json"               // Statement
	HelloPayload     = "application/vnd.hookback.hello+json"        // HubHello
	RotationPayload  = "application/vnd.hookback.key-rotation+json" // KeyRotation
	HeadPayload      = "application/vnd.hookback.head+json"         // LedgerHead
)

// The errors of a signature.
var (
	ErrUnsigned     = errors.New("no signature by this key")
	ErrBadSignature = errors.New("the signature does not match")
)

// Envelope is a DSSE envelope: a payload with signatures over exactly its bytes. The signatures are
// Ed25519 over "DSSEv1 LEN(payloadType) payloadType LEN(payload) payload", with decimal lengths in
// bytes. See https://github.com/secure-systems-lab/dsse.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature of an Envelope.
type Signature struct {
	KeyID string `json:"keyid"` // see KeyID; a hint, the key decides
	Sig   []byte `json:"sig"`   // base64
}

// KeyID returns the name of a hub's public key: the first 16 hex digits of its SHA-256.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// SignEnvelope returns an envelope around payload, signed with key.
func SignEnvelope(payloadType string, payload []byte, key ed25519.PrivateKey) Envelope {
	id := KeyID(key.Public().(ed25519.PublicKey))
	return Envelope{
		PayloadType: payloadType, Payload: payload,
		Signatures: []Signature{{KeyID: id, Sig: ed25519.Sign(key, preAuthEncoding(payloadType, payload))}},
	}
}

// Verify checks that the envelope has the payload type and is signed by key. It returns ErrUnsigned
// if no signature names the key, and ErrBadSignature if one does and does not match.
func (e *Envelope) Verify(payloadType string, key ed25519.PublicKey) error {
	if e.PayloadType != payloadType || len(key) != ed25519.PublicKeySize {
		return ErrUnsigned
	}
	err, id := ErrUnsigned, KeyID(key)
	for _, s := range e.Signatures {
		if s.KeyID != id {
			continue
		}
		if ed25519.Verify(key, preAuthEncoding(e.PayloadType, e.Payload), s.Sig) {
			return nil
		}
		err = ErrBadSignature
	}
	return err
}

// preAuthEncoding is the PAE of DSSE version 1.
func preAuthEncoding(payloadType string, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(payloadType))...)
	b = append(append(b, ' '), payloadType...)
	b = strconv.AppendInt(append(b, ' '), int64(len(payload)), 10)
	return append(append(b, ' '), payload...)
}
