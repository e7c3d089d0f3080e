package schema_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// testKey returns a fixed key for test vectors.
func testKey(fill byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = fill
	}
	return ed25519.NewKeyFromSeed(seed)
}

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// TestEnvelope_DetectsChanges changes each part of a signed envelope.
func TestEnvelope_DetectsChanges(t *testing.T) {
	t.Parallel()
	key := testKey(1)
	signed := schema.SignEnvelope(schema.StatementPayload, []byte(`{"outcome":"deny"}`), key)
	require.NoError(t, signed.Verify(schema.StatementPayload, publicKey(key)))
	require.ErrorIs(t, signed.Verify(schema.HelloPayload, publicKey(key)), schema.ErrUnsigned)
	require.ErrorIs(t, signed.Verify(schema.StatementPayload, publicKey(testKey(2))), schema.ErrUnsigned)
	require.ErrorIs(t, signed.Verify(schema.StatementPayload, nil), schema.ErrUnsigned)

	payload := signed
	payload.Payload = []byte(`{"outcome":"approve"}`)
	require.ErrorIs(t, payload.Verify(schema.StatementPayload, publicKey(key)), schema.ErrBadSignature)

	kind := signed
	kind.PayloadType = schema.HelloPayload
	require.ErrorIs(t, kind.Verify(schema.HelloPayload, publicKey(key)), schema.ErrBadSignature, "a signature of one payload type does not hold for another")

	renamed := signed
	renamed.Signatures = []schema.Signature{{KeyID: schema.KeyID(publicKey(testKey(2))), Sig: signed.Signatures[0].Sig}}
	require.ErrorIs(t, renamed.Verify(schema.StatementPayload, publicKey(testKey(2))), schema.ErrBadSignature)
	require.Error(t, (&schema.Envelope{}).Verify("", publicKey(key)))
}

// rotation returns the envelope with which from announces to.
func rotation(from, to ed25519.PrivateKey) schema.Envelope {
	payload, _ := json.Marshal(sign.KeyRotation{From: schema.KeyID(publicKey(from)), PublicKey: sign.FormatPublicKey(publicKey(to)), At: 1})
	return schema.SignEnvelope(schema.RotationPayload, payload, from)
}

func TestFollowRotations(t *testing.T) {
	t.Parallel()
	keys := make([]ed25519.PrivateKey, sign.MaxRotations+2)
	for i := range keys {
		keys[i] = testKey(byte(i + 1))
	}
	var chain []schema.Envelope
	for i := range sign.MaxRotations {
		chain = append(chain, rotation(keys[i], keys[i+1]))
	}
	newest := publicKey(keys[sign.MaxRotations])
	trusts := func(i int) []ed25519.PublicKey { return []ed25519.PublicKey{publicKey(keys[i])} }

	for start := range sign.MaxRotations {
		got, err := sign.FollowRotations(trusts(start), chain)
		require.NoError(t, err, "from key %d", start)
		require.Equal(t, newest, got, "from key %d", start)
	}
	_, err := sign.FollowRotations(trusts(sign.MaxRotations+1), chain)
	require.ErrorIs(t, err, schema.ErrUnsigned, "no trusted key signed a link")

	_, err = sign.FollowRotations(trusts(0), append(chain[:3:3], chain[4:]...))
	require.ErrorIs(t, err, schema.ErrUnsigned, "a link is missing")

	_, err = sign.FollowRotations(trusts(0), append(chain[:1:1], rotation(keys[5], keys[6])))
	require.ErrorIs(t, err, schema.ErrUnsigned, "the chain ends at a stranger")

	_, err = sign.FollowRotations(trusts(0), append([]schema.Envelope{rotation(keys[9], keys[0])}, chain...))
	require.ErrorIs(t, err, schema.ErrUnsigned, "the chain is too long")
}

// sealVector is a test vector for programs that implement signed answers.
type sealVector struct {
	Event     json.RawMessage `json:"event"`     // the bytes that the agent posts
	AskDigest string          `json:"askDigest"` // hex
	PublicKey string          `json:"publicKey"`
	KeyID     string          `json:"keyId"`
	Seal      schema.Envelope `json:"seal"`

	Challenge     string `json:"challenge"` // of the listener proof
	ListenerKey   string `json:"listenerKey"`
	ListenerProof string `json:"listenerProof"`
}

// TestSealVectors checks the published test vectors.
func TestSealVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"answered.json", "timeout.json"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile("testdata/seal/" + file)
			require.NoError(t, err)
			var v sealVector
			require.NoError(t, json.Unmarshal(b, &v))
			digest, err := sign.AskDigest(v.Event)
			require.NoError(t, err)
			require.Equal(t, v.AskDigest, hex.EncodeToString(digest[:]))
			key, err := sign.ParsePublicKey(v.PublicKey)
			require.NoError(t, err)
			require.Equal(t, v.KeyID, schema.KeyID(key))
			require.NoError(t, v.Seal.Verify(schema.StatementPayload, key))
			var s sign.Statement
			require.NoError(t, json.Unmarshal(v.Seal.Payload, &s))
			require.Equal(t, v.AskDigest, s.Digest(sign.AskSubject, "sha256"))
			require.Equal(t, v.ListenerProof, schema.ListenerProof(v.ListenerKey, v.Challenge))
		})
	}
}

// TestAskDigest_CoversQuestion changes the posted event and compares the digest.
func TestAskDigest_CoversQuestion(t *testing.T) {
	t.Parallel()
	digest := func(event string) string {
		d, err := sign.AskDigest([]byte(event))
		require.NoError(t, err, event)
		return hex.EncodeToString(d[:])
	}
	base := `{"source_app":"a","session_id":"s","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":1},"humanInTheLoop":{"question":"q","type":"permission","nonce":"n"}}`
	for name, same := range map[string]string{
		"white space and order of the event": `{ "payload" : {"x":1}, "humanInTheLoop" : {"question":"q","type":"permission","nonce":"n"},"hook_event_type":"Ask","tool_name":"Bash","session_id":"s","source_app":"\u0061"}`,
		"listener and secret":                `{"source_app":"a","session_id":"s","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":1},"timestamp":5,"humanInTheLoop":{"question":"q","responseWebSocketUrl":"ws://x","response_websocket_url":"y","listenerKey":"k","request_secret":"z","type":"permission","nonce":"n"}}`,
	} {
		require.Equal(t, digest(base), digest(same), name)
	}
	for name, other := range map[string]string{
		"payload":     `{"source_app":"a","session_id":"s","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":2},"humanInTheLoop":{"question":"q","type":"permission","nonce":"n"}}`,
		"nonce":       `{"source_app":"a","session_id":"s","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":1},"humanInTheLoop":{"question":"q","type":"permission","nonce":"m"}}`,
		"name bounds": `{"source_app":"as","session_id":"","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":1},"humanInTheLoop":{"question":"q","type":"permission","nonce":"n"}}`,
		"tool":        `{"source_app":"a","session_id":"s","hook_event_type":"Ask","payload":{"x":1},"humanInTheLoop":{"question":"q","type":"permission","nonce":"n"}}`,
		"new member":  `{"source_app":"a","session_id":"s","hook_event_type":"Ask","tool_name":"Bash","payload":{"x":1},"humanInTheLoop":{"question":"q","type":"permission","nonce":"n","toolCall":{"name":"Bash"}}}`,
	} {
		require.NotEqual(t, digest(base), digest(other), name)
	}
	for _, broken := range []string{``, `[]`, `{"source_app":1,"payload":{},"humanInTheLoop":{}}`, `{"payload":{}}`, `{"humanInTheLoop":[]}`, `{"source_app":`} {
		_, err := sign.AskDigest([]byte(broken))
		require.Error(t, err, broken)
	}
}
