package sign

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// MaxRotations is the maximum length of the chain of key rotations that a client follows.
const MaxRotations = 8

// HubKey is the body of GET /api/hub: the hub's identity.
type HubKey struct {
	HubID     string `json:"hubId"`
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"` // base64 of the 32 bytes of an Ed25519 key
	// Rotations leads from an earlier key to this one, oldest first, at most MaxRotations
	// envelopes of type RotationPayload, each signed by the key that it replaces.
	Rotations []schema.Envelope `json:"rotations,omitempty"`
	// Proof is an envelope of type HelloPayload over the nonce of the request, signed by this key;
	// absent without a nonce.
	Proof *schema.Envelope `json:"proof,omitempty"`
}

// HubHello is the payload with which a hub proves that it holds its key now.
type HubHello struct {
	HubID string `json:"hubId"`
	KeyID string `json:"keyId"`
	Nonce string `json:"nonce"` // of the request
}

// KeyRotation is the payload with which a key announces its successor.
type KeyRotation struct {
	HubID     string        `json:"hubId"`
	From      string        `json:"from"`      // KeyID of the signing key
	PublicKey string        `json:"publicKey"` // the new key, base64
	At        schema.Millis `json:"at"`
}

// LedgerHead is the payload of a signed ledger head: the newest entry at a point in time.
type LedgerHead struct {
	Hub  string        `json:"hub"` // hubId
	N    int64         `json:"n"`   // number of the entry
	Hash string        `json:"hash"`
	At   schema.Millis `json:"at"`
}

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
		return &schema.FieldError{Field: "nonce", Detail: fmt.Sprintf("must be %d to %d printable ASCII characters without spaces", MinNonce, MaxNonce)}
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
func FollowRotations(trusted []ed25519.PublicKey, rotations []schema.Envelope) (ed25519.PublicKey, error) {
	if len(rotations) > MaxRotations {
		return nil, schema.ErrUnsigned
	}
	var reached ed25519.PublicKey
	for i := range rotations {
		signer := reached
		if signer == nil {
			if signer = signerAmong(&rotations[i], trusted); signer == nil {
				continue
			}
		} else if rotations[i].Verify(schema.RotationPayload, signer) != nil {
			return nil, schema.ErrUnsigned
		}
		var err error
		if reached, err = successor(&rotations[i], signer); err != nil {
			return nil, err
		}
	}
	if reached == nil {
		return nil, schema.ErrUnsigned
	}
	return reached, nil
}

// signerAmong returns the key that signed the rotation, or nil if none of keys did.
func signerAmong(e *schema.Envelope, keys []ed25519.PublicKey) ed25519.PublicKey {
	for _, key := range keys {
		if e.Verify(schema.RotationPayload, key) == nil {
			return key
		}
	}
	return nil
}

// successor returns the key that a verified rotation names.
func successor(e *schema.Envelope, signer ed25519.PublicKey) (ed25519.PublicKey, error) {
	var r KeyRotation
	if err := json.Unmarshal(e.Payload, &r); err != nil || r.From != schema.KeyID(signer) {
		return nil, schema.ErrBadSignature
	}
	return ParsePublicKey(r.PublicKey)
}
