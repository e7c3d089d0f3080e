package agentclient

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const (
	systemPinMode = 0o755 // neither group nor others may write
	userPinMode   = 0o600
)

// systemPins is the file with which an administrator pins the hub for every account.
var systemPins = filepath.Join(account.SystemDir, "hub.pub")

// Trust holds the hub keys that an account trusts. They come from the first of these
// sources that exists: /etc/hookback/hub.pub (Windows: hookback in the ProgramData folder),
// Options.HubKeys, and the account's known_hubs file. A Trust is safe for concurrent use.
type Trust struct {
	file   string // source of the pins; empty for HubKeys
	system bool   // file belongs to the administrator and is never written
	writes bool   // Options.RememberHubs

	mu   sync.Mutex
	pins []Pin
}

// LoadTrust reads the pins that o selects. It returns an error if a file exists and can't
// be used, for example because another account may write it.
func LoadTrust(o Options) (*Trust, error) { return loadTrustFrom(o, systemPins, 0) }

// loadTrustFrom is LoadTrust with another administrator's file and its owner's user id.
func loadTrustFrom(o Options, systemFile string, administrator int) (*Trust, error) {
	pins, _, err := readPins(systemFile, systemPinMode, administrator)
	switch {
	case err == nil && len(pins) == 0:
		return nil, fmt.Errorf("%s lists no hub", systemFile)
	case err == nil:
		return &Trust{file: systemFile, system: true, pins: pins}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the machine's trusted hubs: %w", err)
	case len(o.HubKeys) > 0:
		pins, err := o.pins()
		return &Trust{pins: pins}, err
	}
	t := &Trust{file: pinFile(o.KnownHubs), writes: o.RememberHubs}
	if t.file == "" {
		return t, nil
	}
	if t.pins, _, err = readPins(t.file, userPinMode, os.Getuid()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("your known hubs: %w", err)
	}
	return t, nil
}

// pins returns the pins of Options.HubKeys: each key for each address in the code.
func (o Options) pins() (all []Pin, err error) {
	hubs, err := parseHubs(o.Hubs, "")
	if err != nil {
		return nil, err
	}
	for _, text := range o.HubKeys {
		key, err := sign.ParsePublicKey(text)
		if err != nil {
			return nil, fmt.Errorf("%w: Options.HubKeys: %w", schema.ErrInvalid, err)
		}
		for _, hub := range hubs {
			origin, err := originOf(hub)
			if err != nil {
				return nil, err
			}
			all = append(all, Pin{Origin: origin, Key: key})
		}
	}
	return all, nil
}

// pinFile returns chosen, else the account's pin file, or "" for an account without a home.
func pinFile(chosen string) string {
	if chosen != "" {
		return chosen
	}
	home, err := account.Home()
	if err != nil {
		return ""
	}
	return filepath.Join(account.ConfigDir(home), "known_hubs")
}

// Pins returns the trusted keys. It is empty before the first contact with a hub.
func (t *Trust) Pins() []Pin {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.pins)
}

// File returns the file that the pins come from, or "" if code sets them or the account
// has no home directory.
func (t *Trust) File() string { return t.file }

// HasOrigin reports whether a pin is for the origin of this hub address.
func (t *Trust) HasOrigin(hub string) bool {
	origin, err := originOf(hub)
	return err == nil && slices.ContainsFunc(t.Pins(), func(p Pin) bool { return p.Origin == origin })
}

// Remember pins a key for its origin and removes the origin's earlier keys. It writes the
// known_hubs file; pins of the administrator and of code can't be changed.
func (t *Trust) Remember(pin Pin) error {
	return t.update(func(pins []Pin) []Pin {
		pins = slices.DeleteFunc(pins, func(p Pin) bool { return p.Origin == pin.Origin })
		return append(pins, pin)
	})
}

// rememberFirst pins the key of the first hub, and reports whether it did: if another
// program was faster, its pin stays alone.
func (t *Trust) rememberFirst(pin Pin) (added bool) {
	t.learn(func(pins []Pin) []Pin {
		if added = len(pins) == 0; added {
			pins = append(pins, pin)
		}
		return pins
	})
	return added
}

// rotate replaces a key by its successor.
func (t *Trust) rotate(from, to ed25519.PublicKey) {
	t.learn(func(pins []Pin) []Pin {
		for i := range pins {
			if pins[i].Key.Equal(from) {
				pins[i].Key = to
			}
		}
		return pins
	})
}

// learn changes the pins, and the file with Options.RememberHubs. If the file can't be
// written, the change lasts as long as the client.
func (t *Trust) learn(change func([]Pin) []Pin) {
	if t.writes && t.update(change) == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins = change(t.pins)
}

// Verify returns an error unless a pinned key signed the statement in seal.
func (t *Trust) Verify(seal *schema.Envelope) error {
	result := schema.ErrUnsigned
	for _, pin := range t.Pins() {
		err := seal.Verify(schema.StatementPayload, pin.Key)
		if err == nil {
			return nil
		}
		if errors.Is(err, schema.ErrBadSignature) {
			result = err
		}
	}
	return result
}

// follow replaces the pinned key that the rotations lead from, if the key that they lead to
// is the wanted one, and reports whether it did.
func (t *Trust) follow(rotations []schema.Envelope, wanted func(ed25519.PublicKey) bool) bool {
	for _, pin := range t.Pins() {
		key, err := sign.FollowRotations([]ed25519.PublicKey{pin.Key}, rotations)
		if err == nil && wanted(key) {
			t.rotate(pin.Key, key)
			return true
		}
	}
	return false
}

// update rewrites the file.
func (t *Trust) update(change func([]Pin) []Pin) error {
	switch {
	case t.system:
		return fmt.Errorf("%s lists the trusted hubs of this machine; only its administrator changes them", t.file)
	case t.file == "":
		return errors.New("there is no file for known hubs: code sets the keys, or the account has no home directory")
	}
	pins, err := updatePins(t.file, change)
	if err != nil {
		return fmt.Errorf("remember the hub: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins = pins
	return nil
}

// origins lists the origins of the pins for a message.
func (t *Trust) origins() string {
	var list []string
	for _, p := range t.Pins() {
		if !slices.Contains(list, p.Origin) {
			list = append(list, p.Origin)
		}
	}
	return strings.Join(list, ", ")
}

// describe lists the pins for a message: "hub KEYID (ORIGIN)".
func (t *Trust) describe() string {
	var texts []string
	for _, p := range t.Pins() {
		texts = append(texts, p.String())
	}
	if len(texts) == 1 {
		return "hub " + texts[0]
	}
	return "the hubs " + strings.Join(texts, ", ")
}
