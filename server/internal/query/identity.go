package query

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// HubKey returns the hub's identity as JSON (sign.HubKey). With a nonce it contains a proof that
// the hub holds its key now.
func (s *Service) HubKey(ctx context.Context, nonce string) ([]byte, error) {
	key := s.Store.Identity()
	hubKey := sign.HubKey{HubID: s.Store.HubID(), KeyID: key.ID(), PublicKey: sign.FormatPublicKey(key.Public())}
	var err error
	if hubKey.Rotations, err = s.Store.KeyRotations(ctx); err != nil {
		return nil, err
	}
	if nonce != "" {
		hello, err := json.Marshal(sign.HubHello{HubID: hubKey.HubID, KeyID: hubKey.KeyID, Nonce: nonce})
		if err != nil {
			return nil, err
		}
		proof := key.Sign(schema.HelloPayload, hello)
		hubKey.Proof = &proof
	}
	return json.Marshal(hubKey)
}
