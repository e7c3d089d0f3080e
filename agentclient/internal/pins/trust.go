// Package pins holds the hub keys that an account trusts, and the files that list them.
package pins

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

	mu   sync.Mutex
	pins []Pin
}

// Load reads the pins of the account. inCode returns the pins that code sets, and is nil
// without any; file replaces the account's file. Load returns an error if a file exists and
// can't be used, for example because another account may write it.
func Load(file string, inCode func() ([]Pin, error)) (*Trust, error) {
	return LoadFrom(systemPins, 0, file, inCode)
}

// LoadFrom is Load with another administrator's file and its owner's user id.
func LoadFrom(systemFile string, administrator int, file string, inCode func() ([]Pin, error)) (*Trust, error) {
	pins, _, err := readPins(systemFile, systemPinMode, administrator)
	switch {
	case err == nil && len(pins) == 0:
		return nil, fmt.Errorf("%s lists no hub", systemFile)
	case err == nil:
		return &Trust{file: systemFile, system: true, pins: pins}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the machine's trusted hubs: %w", err)
	case inCode != nil:
		pins, err := inCode()
		return New(pins...), err
	}
	t := &Trust{file: File(file)}
	if t.file == "" {
		return t, nil
	}
	if t.pins, _, err = readPins(t.file, userPinMode, os.Getuid()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("your known hubs: %w", err)
	}
	return t, nil
}

// New returns the pins that code sets.
func New(pins ...Pin) *Trust { return &Trust{pins: pins} }

// File returns chosen, else the account's pin file, or "" for an account without a home.
func File(chosen string) string {
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
	origin, err := OriginOf(hub)
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

// RememberFirst pins the key of the first hub, and reports whether it did: if another
// program was faster, its pin stays alone. If the file can't be written, the pin lasts as
// long as the client.
func RememberFirst(t *Trust, pin Pin) (added bool) {
	addFirst := func(pins []Pin) []Pin {
		if added = len(pins) == 0; added {
			pins = append(pins, pin)
		}
		return pins
	}
	if t.update(addFirst) != nil {
		t.updateMemory(addFirst)
	}
	return added
}

// rotate replaces a key by its successor. The pins of the administrator and of code
// change in memory only.
func (t *Trust) rotate(from, to ed25519.PublicKey) {
	replace := func(pins []Pin) []Pin {
		for i := range pins {
			if pins[i].Key.Equal(from) {
				pins[i].Key = to
			}
		}
		return pins
	}
	if t.update(replace) != nil {
		t.updateMemory(replace)
	}
}

// Verify returns nil if a pinned key signed the envelope.
func Verify(t *Trust, seal *schema.Envelope) error {
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

// Follow replaces the pinned key that the rotations lead from, if the key that they lead to
// is the wanted one, and reports whether it did.
func Follow(t *Trust, rotations []schema.Envelope, wanted func(ed25519.PublicKey) bool) bool {
	for _, pin := range t.Pins() {
		key, err := sign.FollowRotations([]ed25519.PublicKey{pin.Key}, rotations)
		if err == nil && wanted(key) {
			t.rotate(pin.Key, key)
			return true
		}
	}
	return false
}

func (t *Trust) updateMemory(change func([]Pin) []Pin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins = change(t.pins)
}

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
func origins(t *Trust) string {
	var list []string
	for _, p := range t.Pins() {
		if !slices.Contains(list, p.Origin) {
			list = append(list, p.Origin)
		}
	}
	return strings.Join(list, ", ")
}

// Describe lists the pins for a message: "hub KEYID (ORIGIN)".
func Describe(t *Trust) string {
	var texts []string
	for _, p := range t.Pins() {
		texts = append(texts, p.String())
	}
	if len(texts) == 1 {
		return "hub " + texts[0]
	}
	return "the hubs " + strings.Join(texts, ", ")
}
