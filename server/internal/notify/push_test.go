package notify

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// browser is one that can read what is pushed to it (RFC 8291), written here a second
// time so that the library is not held against itself.
type browser struct {
	far  *far
	key  *ecdh.PrivateKey
	auth []byte
}

func openBrowser(t *testing.T) *browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	b := &browser{far: listen(t), key: key, auth: make([]byte, 16)}
	_, err = rand.Read(b.auth)
	require.NoError(t, err)
	return b
}

func (b *browser) subscription() schema.PushSubscription {
	return schema.PushSubscription{Endpoint: b.far.URL + "/send/one", Keys: schema.PushKeys{
		P256dh: base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()),
		Auth:   base64.RawURLEncoding.EncodeToString(b.auth),
	}}
}

// read decrypts the message that was pushed as the i-th.
func (b *browser) read(t *testing.T, i int) (m schema.PushMessage) {
	body := []byte(b.far.got()[i])
	salt, size := body[:16], int(body[20])
	require.EqualValues(t, 4096, binary.BigEndian.Uint32(body[16:20]))
	theirs, err := ecdh.P256().NewPublicKey(body[21 : 21+size])
	require.NoError(t, err)
	shared, err := b.key.ECDH(theirs)
	require.NoError(t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, n)
		require.NoError(t, err)
		return out
	}
	ikm := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(theirs.Bytes()), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	plain, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), body[21+size:], nil)
	require.NoError(t, err)
	text, _, ended := strings.Cut(string(plain), "\x02")
	require.True(t, ended)
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

func TestABrowserIsToldAsLittleAsItTakes(t *testing.T) {
	t.Parallel()
	r, b := setup(t, ada, grace), openBrowser(t)
	r.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	require.NoError(t, r.Subscribe(t.Context(), "ada", b.subscription()))
	id := r.ask("The password is hunter2, may I?", `"timeout":600`)
	r.card(id, "asked ada sent")
	m := b.read(t, 0)
	require.Equal(t, schema.PushMessage{ID: id, Title: "shop asks for an answer", Tag: "request-" + id.String()}, m)
	h := b.far.header(0)
	require.Equal(t, "aes128gcm", h.Get("Content-Encoding"))
	require.Equal(t, "high", h.Get("Urgency"))
	require.Equal(t, m.Tag, h.Get("Topic"))
	var ttl int
	require.NoError(t, json.Unmarshal([]byte(h.Get("TTL")), &ttl))
	require.Equal(t, 600, ttl, "no longer than the request")
	public, err := r.PushKey(t.Context())
	require.NoError(t, err)
	requireSigned(t, h.Get("Authorization"), public, b.far.URL)

	r.answer(id)
	r.eventually("what it shows is taken back", func() bool { return len(b.far.got()) == 2 })
	m = b.read(t, 1)
	require.True(t, m.Settled)
	require.Equal(t, "request-"+id.String(), m.Tag)
}

// requireSigned holds the header against VAPID (RFC 8292).
func requireSigned(t *testing.T, header, public, audience string) {
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	require.True(t, ok)
	require.Equal(t, public, key, "the key that the browser subscribed with")
	raw, err := base64.RawURLEncoding.DecodeString(key)
	require.NoError(t, err)
	at := strings.LastIndexByte(token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	require.NoError(t, err)
	hash := sha256.Sum256([]byte(token[:at]))
	verifier, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	require.NoError(t, err)
	require.True(t, ecdsa.Verify(verifier, hash[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])))
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	var said struct {
		Aud string  `json:"aud"`
		Exp float64 `json:"exp"`
		Sub string  `json:"sub"`
	}
	require.NoError(t, json.Unmarshal(claims, &said))
	require.Equal(t, audience, said.Aud)
	require.Equal(t, "https://hub.example.com", said.Sub)
	require.WithinDuration(t, time.Now().Add(12*time.Hour), time.Unix(int64(said.Exp), 0), time.Hour)
}

func TestABrowserThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	r, gone, there := setup(t, ada), openBrowser(t), openBrowser(t)
	gone.far.status.Store(410)
	require.NoError(t, r.Subscribe(t.Context(), "ada", gone.subscription()))
	notices := r.card(r.ask("1"), "asked ada failed")
	require.Equal(t, 1, notices[0].Attempts)
	browsers, err := r.Store.PushSubscriptions(t.Context(), "ada")
	require.NoError(t, err)
	require.Empty(t, browsers)

	gone.far.status.Store(404)
	require.NoError(t, r.Subscribe(t.Context(), "ada", gone.subscription()))
	require.NoError(t, r.Subscribe(t.Context(), "ada", there.subscription()))
	r.card(r.ask("2"), "asked ada sent")
	browsers, err = r.Store.PushSubscriptions(t.Context(), "ada")
	require.NoError(t, err)
	require.Len(t, browsers, 1)
}

func TestABrowserIsOnePersonsAndTheKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	r, b := setup(t, ada, grace), openBrowser(t)
	first, err := r.PushKey(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Subscribe(t.Context(), "ada", b.subscription()))
	require.NoError(t, r.Subscribe(t.Context(), "grace", b.subscription()))
	r.card(r.ask("May I?"), "asked grace sent")
	r.restart()
	second, err := r.PushKey(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NoError(t, r.Store.RemovePushSubscription(t.Context(), b.subscription().Endpoint))
	id := r.ask("And now?")
	r.eventually("it is looked at", func() bool {
		cursor, err := r.Store.NotificationCursor(t.Context())
		return err == nil && cursor >= int64(id)
	})
	require.Empty(t, r.status(id).Notifications)
}

func TestWhatIsNoPushServiceIsRefused(t *testing.T) {
	t.Parallel()
	good := openBrowser(t).subscription()
	good.Endpoint = "https://push.example.com/send/one"
	r := setup(t)
	n := New(Config{Store: r.Store}) // as a hub is, not as the tests'
	require.NoError(t, n.Subscribe(t.Context(), "", good))
	for endpoint, ok := range map[string]bool{
		"http://push.example.com/send": false, "https://127.0.0.1/send": false, "https://localhost/x": false, "https://10.0.0.1/x": false,
		"https://[::1]/x": false, "https://169.254.169.254/latest": false, "https://100.64.0.1/x": false, "": false, "https://": false, "ftp://a": false,
		"https://[::ffff:127.0.0.1]/x": false,
	} {
		bad := good
		bad.Endpoint = endpoint
		require.Equal(t, ok, n.Subscribe(t.Context(), "", bad) == nil, endpoint)
	}
	for _, keys := range []schema.PushKeys{
		{}, {P256dh: good.Keys.P256dh}, {Auth: good.Keys.Auth}, {P256dh: good.Keys.P256dh, Auth: "AAAA"},
		{P256dh: "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Auth: good.Keys.Auth},
	} {
		bad := good
		bad.Keys = keys
		require.ErrorIs(t, n.Subscribe(t.Context(), "", bad), schema.ErrInvalid)
	}
	// A name that leads to this machine is refused when it is dialled.
	b := openBrowser(t)
	local := b.subscription()
	local.Endpoint = strings.Replace(local.Endpoint, "127.0.0.1", "localhost", 1)
	require.NoError(t, r.Store.AddPushSubscription(t.Context(), "eve", local, maxBrowsers))
	require.ErrorContains(t, n.push(t.Context(), "eve", &pushed{ttl: time.Minute}), "an address of this network")
	require.Empty(t, b.far.got())
	for i := range maxBrowsers {
		good.Endpoint = "https://push.example.com/" + strings.Repeat("x", i)
		err := n.Subscribe(t.Context(), "", good)
		require.Equal(t, i < maxBrowsers-1, err == nil, i)
	}
}
