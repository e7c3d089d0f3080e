package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// fakeAuthenticator is an authenticator with one passkey, and the browser around it. Its
// fields can be set to invalid values.
type fakeAuthenticator struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	id     []byte
	count  uint32
	origin string
	rpID   string
	flags  byte // authenticator data: user present (1), user verified (4)
}

const hubOrigin = "http://localhost:4000"

func newFakeAuthenticator(t *testing.T) *fakeAuthenticator {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	d := &fakeAuthenticator{t: t, key: key, id: make([]byte, 16), origin: hubOrigin, rpID: "localhost", flags: 1 | 4}
	_, _ = rand.Read(d.id)
	return d
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// clientData returns the browser's client data for the page that made the request.
func (d *fakeAuthenticator) clientData(kind string, o schema.PasskeyOptions) []byte {
	var options struct {
		Challenge string `json:"challenge"`
	}
	require.NoError(d.t, json.Unmarshal(o.PublicKey, &options))
	raw, err := json.Marshal(map[string]any{"type": kind, "challenge": options.Challenge, "origin": d.origin, "crossOrigin": false})
	require.NoError(d.t, err)
	return raw
}

func (d *fakeAuthenticator) authData(flags byte) []byte {
	rp := sha256.Sum256([]byte(d.rpID))
	return binary.BigEndian.AppendUint32(append(rp[:], d.flags|flags), d.count)
}

// create implements navigator.credentials.create.
func (d *fakeAuthenticator) create(o schema.PasskeyOptions) json.RawMessage {
	point, err := d.key.PublicKey.Bytes()
	require.NoError(d.t, err)
	cose := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 32), point[33:]...)
	auth := append(d.authData(0x40), make([]byte, 16)...)
	auth = append(append(auth, 0, byte(len(d.id))), d.id...)
	auth = append(auth, cose...)
	object := append([]byte{0xa3, 0x63}, "fmt"...)
	object = append(append(object, 0x64), "none"...)
	object = append(append(object, 0x67), "attStmt"...)
	object = append(append(object, 0xa0, 0x68), "authData"...)
	object = append(append(object, 0x58, byte(len(auth))), auth...)
	return d.credential(map[string]any{
		"clientDataJSON": b64(d.clientData("webauthn.create", o)), "attestationObject": b64(object), "transports": []string{"internal"},
	})
}

// get implements navigator.credentials.get.
func (d *fakeAuthenticator) get(o schema.PasskeyOptions) json.RawMessage {
	d.count++
	client, auth := d.clientData("webauthn.get", o), d.authData(0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(auth, hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	require.NoError(d.t, err)
	return d.credential(map[string]any{
		"clientDataJSON": b64(client), "authenticatorData": b64(auth), "signature": b64(signature),
	})
}

func (d *fakeAuthenticator) credential(response map[string]any) json.RawMessage {
	raw, err := json.Marshal(map[string]any{
		"id": b64(d.id), "rawId": b64(d.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{},
	})
	require.NoError(d.t, err)
	return raw
}
