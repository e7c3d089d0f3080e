package schema

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// The payload types of an Envelope.
const (
	StatementPayload = "application/vnd.in-toto+json"               // Statement
	HelloPayload     = "application/vnd.hookback.hello+json"        // HubHello
	RotationPayload  = "application/vnd.hookback.key-rotation+json" // KeyRotation
	HeadPayload      = "application/vnd.hookback.head+json"         // LedgerHead
)

// MaxRotations is the maximum length of the chain of key rotations that a client follows.
const MaxRotations = 8

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

// HubKey is the body of GET /api/hub: the hub's identity.
type HubKey struct {
	HubID     string `json:"hubId"`
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"` // base64 of the 32 bytes of an Ed25519 key
	// Rotations leads from an earlier key to this one, oldest first, at most MaxRotations
	// envelopes of type RotationPayload, each signed by the key that it replaces.
	Rotations []Envelope `json:"rotations,omitempty"`
	// Proof is an envelope of type HelloPayload over the nonce of the request, signed by this key;
	// absent without a nonce.
	Proof *Envelope `json:"proof,omitempty"`
}

// HubHello is the payload with which a hub proves that it holds its key now.
type HubHello struct {
	HubID string `json:"hubId"`
	KeyID string `json:"keyId"`
	Nonce string `json:"nonce"` // of the request
}

// KeyRotation is the payload with which a key announces its successor.
type KeyRotation struct {
	HubID     string `json:"hubId"`
	From      string `json:"from"`      // KeyID of the signing key
	PublicKey string `json:"publicKey"` // the new key, base64
	At        Millis `json:"at"`
}

// LedgerHead is the payload of a signed ledger head: the newest entry at a point in time.
type LedgerHead struct {
	Hub  string `json:"hub"` // hubId
	N    int64  `json:"n"`   // number of the entry
	Hash string `json:"hash"`
	At   Millis `json:"at"`
}

// PathHub is the hub's identity.
const PathHub = "/api/hub"

// The bounds of the nonce of PathHub, in bytes of printable ASCII.
const (
	MinNonce = 16
	MaxNonce = 128
)

// CheckNonce fails with a FieldError if nonce is not a valid nonce of PathHub.
func CheckNonce(nonce string) error {
	valid := len(nonce) >= MinNonce && len(nonce) <= MaxNonce
	for i := range len(nonce) {
		valid = valid && nonce[i] > ' ' && nonce[i] < 0x7f
	}
	if !valid {
		return &FieldError{Field: "nonce", Detail: fmt.Sprintf("must be %d to %d printable ASCII characters without spaces", MinNonce, MaxNonce)}
	}
	return nil
}

// ParsePublicKey reads the base64 form of an Ed25519 public key.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is not the base64 form of an Ed25519 public key", s)
	}
	return b, nil
}

// FormatPublicKey returns the base64 form of an Ed25519 public key.
func FormatPublicKey(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// FollowRotations returns the key that the chain of rotations reaches from one of the trusted keys.
// Links before the trusted key are skipped. It returns ErrUnsigned if no trusted key signed a link,
// the chain is longer than MaxRotations, or a later link is not signed by its predecessor.
func FollowRotations(trusted []ed25519.PublicKey, rotations []Envelope) (ed25519.PublicKey, error) {
	if len(rotations) > MaxRotations {
		return nil, ErrUnsigned
	}
	var reached ed25519.PublicKey
	for i := range rotations {
		signer := reached
		if signer == nil {
			if signer = rotations[i].signerAmong(trusted); signer == nil {
				continue
			}
		} else if rotations[i].Verify(RotationPayload, signer) != nil {
			return nil, ErrUnsigned
		}
		var err error
		if reached, err = rotations[i].successor(signer); err != nil {
			return nil, err
		}
	}
	if reached == nil {
		return nil, ErrUnsigned
	}
	return reached, nil
}

// signerAmong returns the key that signed the rotation, or nil if none of keys did.
func (e *Envelope) signerAmong(keys []ed25519.PublicKey) ed25519.PublicKey {
	for _, key := range keys {
		if e.Verify(RotationPayload, key) == nil {
			return key
		}
	}
	return nil
}

// successor returns the key that a verified rotation names.
func (e *Envelope) successor(signer ed25519.PublicKey) (ed25519.PublicKey, error) {
	var r KeyRotation
	if err := json.Unmarshal(e.Payload, &r); err != nil || r.From != KeyID(signer) {
		return nil, ErrBadSignature
	}
	return ParsePublicKey(r.PublicKey)
}
