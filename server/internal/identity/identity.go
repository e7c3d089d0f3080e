// Package identity keeps the hub's Ed25519 key: it stores the key in a file next to the database
// file, or in the data directory with PostgreSQL, signs with it, and derives the hub's other keys
// from it (HKDF). The key is not in the database, so a copy of the database can neither sign nor
// decrypt.
package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Key is the hub's private key. Its methods are safe for concurrent use.
type Key struct {
	private ed25519.PrivateKey
	aead    cipher.AEAD
}

func newKey(private ed25519.PrivateKey) (*Key, error) {
	k := &Key{private: private}
	block, err := aes.NewCipher(k.Subkey("encryption at rest"))
	if err != nil {
		return nil, err
	}
	k.aead, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// Public returns the public key.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// ID returns the name of the key, see schema.KeyID.
func (k *Key) ID() string { return schema.KeyID(k.Public()) }

// Sign returns an envelope around payload, signed with the key.
func (k *Key) Sign(payloadType string, payload []byte) schema.Envelope {
	return schema.SignEnvelope(payloadType, payload, k.private)
}

// Subkey derives the 32-byte secret key for a purpose. Different purposes have independent keys.
func (k *Key) Subkey(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, k.private.Seed(), nil, "hookback hub key 1: "+purpose, sha256.Size)
	if err != nil {
		panic(err) // only for a length that SHA-256 cannot produce
	}
	return key
}

// Encrypt returns the encrypted form of a text for the database (AES-256-GCM). The place names
// the column and row: a text that was moved to another place does not decrypt. An empty text
// stays empty.
func (k *Key) Encrypt(place, text string) string {
	if text == "" {
		return ""
	}
	sealed := k.aead.Seal(nil, nil, []byte(text), []byte(place)) //nolint:gosec // the AEAD makes a random nonce
	return base64.RawStdEncoding.EncodeToString(sealed)
}

// Decrypt reverses Encrypt. It fails if the text was changed, moved or encrypted with another
// key.
func (k *Key) Decrypt(place, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		b, err = k.aead.Open(nil, nil, b, []byte(place))
	}
	if err != nil {
		return "", fmt.Errorf("decrypt %s with the hub's key %s: %w", place, k.ID(), err)
	}
	return string(b), nil
}
