package agentclient

import (
	"fmt"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/internal/pins"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// Pin is a hub key that an account trusts. The key identifies the hub, not the address: a
// hub with the key may answer at any address.
type Pin = pins.Pin

// Trust holds the hub keys that an account trusts. They come from the first of these
// sources that exists: /etc/hookback/hub.pub (Windows: hookback in the ProgramData folder),
// Options.HubKeys, and the account's known_hubs file. A Trust is safe for concurrent use.
type Trust = pins.Trust

// LoadTrust reads the pins that o selects. It returns an error if a file exists and can't
// be used, for example because another account may write it.
func LoadTrust(o Options) (*Trust, error) { return pins.Load(o.KnownHubs, o.pins()) }

// pins returns a function that returns the pins of Options.HubKeys: each key for each
// address in the code. It is nil without such keys.
func (o Options) pins() func() ([]Pin, error) {
	if len(o.HubKeys) == 0 {
		return nil
	}
	return func() (all []Pin, err error) {
		hubs, err := transport.Addresses(o.Hubs, "")
		if err != nil {
			return nil, err
		}
		for _, text := range o.HubKeys {
			key, err := sign.ParsePublicKey(text)
			if err != nil {
				return nil, fmt.Errorf("%w: Options.HubKeys: %w", schema.ErrInvalid, err)
			}
			for _, hub := range hubs {
				origin, err := pins.OriginOf(hub)
				if err != nil {
					return nil, err
				}
				all = append(all, Pin{Origin: origin, Key: key})
			}
		}
		return all, nil
	}
}

// VerifyEnvelope returns an error unless a trusted hub signed the statement in seal.
func VerifyEnvelope(trust *Trust, seal *schema.Envelope) error {
	if seal.PayloadType != schema.StatementPayload {
		return schema.ErrUnsigned
	}
	return pins.Verify(trust, seal)
}

// MemoryFile returns the path of a file for the account's data about its hubs: next
// to Options.KnownHubs, else in the directory of the account's settings. It is "" for an account
// without a home directory.
func MemoryFile(o Options, name string) string {
	if file := pins.File(o.KnownHubs); file != "" {
		return filepath.Join(filepath.Dir(file), name)
	}
	return ""
}
