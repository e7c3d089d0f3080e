package schema_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// dsseKey adapts an Ed25519 key to the reference library.
type dsseKey struct{ ed25519.PrivateKey }

func (k dsseKey) KeyID() (string, error)   { return schema.KeyID(publicKey(k.PrivateKey)), nil }
func (k dsseKey) Public() crypto.PublicKey { return publicKey(k.PrivateKey) }
func (k dsseKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(k.PrivateKey, data), nil
}

func (k dsseKey) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(publicKey(k.PrivateKey), data, sig) {
		return errors.New("bad signature")
	}
	return nil
}

// TestEnvelope_MatchesReferenceLibrary verifies our envelopes with the library of the DSSE project, and
// the library's envelopes with ours.
func TestEnvelope_MatchesReferenceLibrary(t *testing.T) {
	t.Parallel()
	key := dsseKey{testKey(3)}
	payload := []byte("{\"é\": \"<&>\"}\n")

	text, err := json.Marshal(schema.SignEnvelope(schema.StatementPayload, payload, key.PrivateKey))
	require.NoError(t, err)
	var theirs dsse.Envelope
	require.NoError(t, json.Unmarshal(text, &theirs))
	verifier, err := dsse.NewEnvelopeVerifier(key)
	require.NoError(t, err)
	accepted, err := verifier.Verify(t.Context(), &theirs)
	require.NoError(t, err)
	require.Len(t, accepted, 1)

	signer, err := dsse.NewEnvelopeSigner(key)
	require.NoError(t, err)
	signed, err := signer.SignPayload(t.Context(), schema.StatementPayload, payload)
	require.NoError(t, err)
	text, err = json.Marshal(signed)
	require.NoError(t, err)
	var ours schema.Envelope
	require.NoError(t, json.Unmarshal(text, &ours))
	require.Equal(t, payload, ours.Payload)
	require.NoError(t, ours.Verify(schema.StatementPayload, publicKey(key.PrivateKey)))
}
