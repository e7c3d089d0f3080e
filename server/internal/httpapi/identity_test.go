package httpapi

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// TestHubKey_ProvesPossession: anyone may ask the hub which key it has, also on a locked hub and
// from another machine, and gets a proof over their own nonce.
func TestHubKey_ProvesPossession(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	for _, address := range []*net.TCPAddr{nil, {IP: net.IPv4(192, 0, 2, 7), Port: 4711}} {
		r.client.CloseIdleConnections()
		r.remoteAddr.Store(address)
		var got sign.HubKey
		nonce := strings.Repeat("n", sign.MinNonce-1) + "&"
		r.expectOK(&got, "GET "+schema.PathHub+"?nonce="+url.QueryEscape(nonce), "")
		key, err := sign.ParsePublicKey(got.PublicKey)
		require.NoError(t, err)
		require.Equal(t, schema.KeyID(key), got.KeyID)
		require.Equal(t, r.store.HubID(), got.HubID)
		require.Empty(t, got.Rotations)
		require.NoError(t, got.Proof.Verify(schema.HelloPayload, key))
		var hello sign.HubHello
		require.NoError(t, json.Unmarshal(got.Proof.Payload, &hello))
		require.Equal(t, sign.HubHello{HubID: got.HubID, KeyID: got.KeyID, Nonce: nonce}, hello)

		got = sign.HubKey{}
		r.expectOK(&got, "GET "+schema.PathHub, "")
		require.Nil(t, got.Proof)
	}
	for _, nonce := range []string{"short", strings.Repeat("x", sign.MaxNonce+1), strings.Repeat("a b", 10), strings.Repeat("é", 16), strings.Repeat("\x01", 20)} {
		p := r.expectProblem("invalid", "GET "+schema.PathHub+"?nonce="+url.QueryEscape(nonce), "")
		require.Equal(t, "nonce", p.Field, nonce)
	}
}

func TestLedgerHead_IsSigned(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.expectProblem("not_found", "GET "+schema.PathLedgerHead, "")
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	var e schema.Envelope
	r.expectOK(&e, "GET "+schema.PathLedgerHead, "")
	require.NoError(t, e.Verify(schema.HeadPayload, r.store.Identity().Public()))
	var head sign.LedgerHead
	require.NoError(t, json.Unmarshal(e.Payload, &head))
	var entries []sign.LedgerEntry
	r.expectOK(&entries, "GET "+schema.PathLedger+"?limit=1", "")
	require.Equal(t, "hub.locked", entries[0].Action)
	require.Equal(t, []any{entries[0].N, entries[0].Hash, r.store.HubID()}, []any{head.N, head.Hash, head.Hub}, "the lock is signed at once")
}
