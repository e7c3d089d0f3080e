package notify

import (
	"context"
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
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub"
)

// testBrowser decrypts Web Push messages (RFC 8291). It is a second implementation, so
// that the library is not tested against itself.
type testBrowser struct {
	server *testServer
	key    *ecdh.PrivateKey
	auth   []byte
}

func newTestBrowser(t *testing.T) *testBrowser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	b := &testBrowser{server: startServer(t), key: key, auth: make([]byte, 16)}
	_, err = rand.Read(b.auth)
	require.NoError(t, err)
	return b
}

func (b *testBrowser) subscription() schema.PushSubscription {
	return schema.PushSubscription{Endpoint: b.server.URL + "/send/one", Keys: schema.PushKeys{
		P256dh: base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()),
		Auth:   base64.RawURLEncoding.EncodeToString(b.auth),
	}}
}

// decrypt returns the i-th message.
func (b *testBrowser) decrypt(t *testing.T, i int) (m schema.PushMessage) {
	body := []byte(b.server.requests()[i])
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

func TestPush_RevealsNoQuestionText(t *testing.T) {
	t.Parallel()
	h, b := newHarness(t, ada, grace), newTestBrowser(t)
	h.nowMS.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
	id := h.askQuestion("The password is hunter2, may I?", `"timeout":600`)
	h.requireNotifications(id, "asked ada sent")
	m := b.decrypt(t, 0)
	require.Equal(t, schema.PushMessage{ID: id, Title: "shop asks for an answer", Tag: "request-" + id.String()}, m)
	header := b.server.requestHeader(0)
	require.Equal(t, "aes128gcm", header.Get("Content-Encoding"))
	require.Equal(t, "high", header.Get("Urgency"))
	require.Equal(t, m.Tag, header.Get("Topic"))
	var ttl int
	require.NoError(t, json.Unmarshal([]byte(header.Get("TTL")), &ttl))
	require.Equal(t, 600, ttl, "no longer than the request")
	public, err := h.PushKey(t.Context())
	require.NoError(t, err)
	requireVAPID(t, header.Get("Authorization"), public, b.server.URL)

	h.approve(id)
	h.eventually("the notification is cleared", func() bool { return len(b.server.requests()) >= 2 }) // twice if the planner reads an earlier change late
	m = b.decrypt(t, 1)
	require.True(t, m.Settled)
	require.Equal(t, "request-"+id.String(), m.Tag)
}

// fixedNeeds is the number of requests that need anyone.
type fixedNeeds int64

func (n fixedNeeds) NeedsYou(context.Context, auth.Identity) (int64, error) { return int64(n), nil }

func TestPush_CarriesTheNumberForTheBadge(t *testing.T) {
	t.Parallel()
	h, b := newHarness(t, ada), newTestBrowser(t)
	h.Needs = fixedNeeds(3) // before anything is sent
	require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent")
	require.Equal(t, new(int64(3)), b.decrypt(t, 0).NeedsYou)
}

// A person who chose so answers with a button of the notification, once, and only while signed in there.
func TestPush_OffersAnswers(t *testing.T) {
	t.Parallel()
	h, b := newHarness(t, ada, grace), newTestBrowser(t)
	require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
	require.NoError(t, h.Store.SetNotificationSettings(t.Context(), "ada", schema.NotificationSettings{AnswerByPush: true}))
	id := h.askQuestion("May I deploy?")
	h.requireNotifications(id, "asked ada sent")
	m := b.decrypt(t, 0)
	require.Equal(t, "The agent asks: May I deploy?", m.Text)
	require.NotEmpty(t, m.Token)

	for _, cookie := range []string{"", "cookie of grace"} {
		_, err := h.OpenLink(t.Context(), id, m.Token, cookie)
		require.ErrorIs(t, err, schema.ErrSignIn)
		require.ErrorIs(t, h.VoteByLink(t.Context(), id, m.Token, cookie, func(*OpenedLink) error { return nil }), schema.ErrSignIn)
	}
	answer := func() error {
		return h.VoteByLink(t.Context(), id, m.Token, "cookie of ada", func(o *OpenedLink) error {
			no := false
			_, err := h.hub.Respond(t.Context(), id, &schema.Response{Permission: &no, Revision: o.Revision}, hub.Caller{Identity: o.Identity})
			return err
		})
	}
	require.NoError(t, answer())
	require.Equal(t, "ada", h.status(id).RespondedBy.Name)
	require.Error(t, answer(), "it works once")
}

func TestPush_OffersNoAnswerUnlessShownAndHarmless(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"high risk":      `"risk":"high"`,
		"needs a reason": `"reasonRequired":"deny"`,
		"too long":       `"toolCall":{"name":"Bash","arguments":{"command":"` + strings.Repeat("x", 1600) + `"}}`,
		"long change":    `"context":{"diff":"+` + strings.Repeat("x", 1600) + `"}`,
		"hidden text":    `"toolCall":{"name":"Bash","arguments":{"command":"ls \u202e/"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b := newHarness(t, ada), newTestBrowser(t)
			require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
			require.NoError(t, h.Store.SetNotificationSettings(t.Context(), "ada", schema.NotificationSettings{AnswerByPush: true}))
			id := h.askQuestion("May I?", more)
			h.requireNotifications(id, "asked ada sent")
			m := b.decrypt(t, 0)
			require.Empty(t, m.Text)
			require.Empty(t, m.Token)
		})
	}
}

// requireVAPID verifies a VAPID header (RFC 8292).
func requireVAPID(t *testing.T, header, public, audience string) {
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
	var got struct {
		Aud string  `json:"aud"`
		Exp float64 `json:"exp"`
		Sub string  `json:"sub"`
	}
	require.NoError(t, json.Unmarshal(claims, &got))
	require.Equal(t, audience, got.Aud)
	require.Equal(t, "https://hub.example.com", got.Sub)
	require.WithinDuration(t, time.Now().Add(12*time.Hour), time.Unix(int64(got.Exp), 0), time.Hour)
}

func TestPush_RemovesGoneBrowsers(t *testing.T) {
	t.Parallel()
	h, gone, there := newHarness(t, ada), newTestBrowser(t), newTestBrowser(t)
	gone.server.status.Store(410)
	require.NoError(t, h.Subscribe(t.Context(), "ada", gone.subscription()))
	notifications := h.requireNotifications(h.askQuestion("1"), "asked ada failed")
	require.Equal(t, 1, notifications[0].Attempts)
	browsers, err := h.Store.PushSubscriptions(t.Context(), "ada")
	require.NoError(t, err)
	require.Empty(t, browsers)

	gone.server.status.Store(404)
	require.NoError(t, h.Subscribe(t.Context(), "ada", gone.subscription()))
	require.NoError(t, h.Subscribe(t.Context(), "ada", there.subscription()))
	h.requireNotifications(h.askQuestion("2"), "asked ada sent")
	browsers, err = h.Store.PushSubscriptions(t.Context(), "ada")
	require.NoError(t, err)
	require.Len(t, browsers, 1)
}

func TestPush_BrowserBelongsToOnePerson(t *testing.T) {
	t.Parallel()
	h, b := newHarness(t, ada, grace), newTestBrowser(t)
	first, err := h.PushKey(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
	require.NoError(t, h.Subscribe(t.Context(), "grace", b.subscription()))
	h.requireNotifications(h.askQuestion("May I?"), "asked grace sent")
	h.restart()
	second, err := h.PushKey(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NoError(t, h.Store.RemovePushSubscription(t.Context(), b.subscription().Endpoint))
	id := h.askQuestion("And now?")
	h.requirePlanned(id)
	require.Empty(t, h.status(id).Notifications)
}

func TestSubscribe_RejectsPrivateAddresses(t *testing.T) {
	t.Parallel()
	good := newTestBrowser(t).subscription()
	good.Endpoint = "https://push.example.com/send/one"
	h := newHarness(t)
	n := New(Config{Store: h.Store}) // without PushAnywhere, as in production
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
	// A host name that resolves to this machine is rejected when dialing.
	b := newTestBrowser(t)
	local := b.subscription()
	local.Endpoint = strings.Replace(local.Endpoint, "127.0.0.1", "localhost", 1)
	require.NoError(t, h.Store.AddPushSubscription(t.Context(), "eve", local, maxBrowsers))
	require.ErrorContains(t, n.push(t.Context(), "eve", &pushMessage{ttl: time.Minute}), "in a private network")
	require.Empty(t, b.server.requests())
	for i := range maxBrowsers {
		good.Endpoint = "https://push.example.com/" + strings.Repeat("x", i)
		err := n.Subscribe(t.Context(), "", good)
		require.Equal(t, i < maxBrowsers-1, err == nil, i)
	}
}
