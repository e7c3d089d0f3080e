package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/atomicfile"
)

// knownEntry is an entry of an audit log whose hash is known from elsewhere.
type knownEntry struct {
	n    int64
	hash string
	when string // completes "was HASH …"
}

// ledgerMemory is the file with the newest entry that verify has seen of each hub. Each line is KEYID
// ORIGIN NUMBER HASH. A hub is found by its key and by its address, so that neither a new address nor
// a new key makes it unknown.
type ledgerMemory struct {
	file  string // "": nothing is stored
	lines [][]string
}

// newLedgerMemory returns the memory next to a file of known hubs, by default the account's. An
// account without a home directory has none.
func newLedgerMemory(knownHubs string) ledgerMemory {
	dir := filepath.Dir(knownHubs)
	if knownHubs == "" {
		home, err := account.Home()
		if err != nil {
			return ledgerMemory{}
		}
		dir = account.ConfigDir(home)
	}
	return ledgerMemory{file: filepath.Join(dir, "ledger_heads")}
}

// load reads the file; a missing one is empty.
func (m *ledgerMemory) load() error {
	if m.file == "" {
		return nil
	}
	text, err := os.ReadFile(m.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if _, err := strconv.ParseInt(fields[min(2, len(fields)-1)], 10, 64); err != nil || len(fields) != 4 {
			return fmt.Errorf("%s is damaged; remove it to start again", m.file)
		}
		m.lines = append(m.lines, fields)
	}
	return nil
}

func isOf(fields []string, pin agentclient.Pin) bool {
	return fields[0] == pin.KeyID() || fields[1] == pin.Origin
}

// of returns the remembered entries of a hub.
func (m *ledgerMemory) of(pin agentclient.Pin) (known []knownEntry) {
	for _, fields := range m.lines {
		if n, err := strconv.ParseInt(fields[2], 10, 64); err == nil && isOf(fields, pin) {
			known = append(known, knownEntry{n, fields[3], "when this account last verified it"})
		}
	}
	return known
}

// remember replaces the entry of a hub.
func (m *ledgerMemory) remember(pin agentclient.Pin, n int64, hash string) error {
	if m.file == "" {
		return nil
	}
	m.lines = slices.DeleteFunc(m.lines, func(fields []string) bool { return isOf(fields, pin) })
	m.lines = append(m.lines, []string{pin.KeyID(), pin.Origin, strconv.FormatInt(n, 10), hash})
	var text strings.Builder
	for _, fields := range m.lines {
		text.WriteString(strings.Join(fields, " ") + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(m.file, []byte(text.String()), 0o600)
}
