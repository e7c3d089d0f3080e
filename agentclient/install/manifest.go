package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookback/hookback/agentclient/install/jsonc"
	"github.com/hookback/hookback/agentclient/internal/atomicfile"
)

// manifest is the list of installed entries by file.
type manifest struct {
	Files map[string]*record `json:"files"` // by path as the agent uses it, before resolving links
}

// record is the manifest's record of one file.
type record struct {
	Agent     string            `json:"agent"`
	Scope     Scope             `json:"scope"`
	Binaries  []string          `json:"binaries"`          // binaries that entries ran, the newest last
	Entries   map[string]string `json:"entries,omitempty"` // event → hash of its normalized entry
	OwnedHash string            `json:"whole,omitempty"`   // hash of a file that we own
	Created   bool              `json:"created,omitempty"` // the file did not exist before
	Dirs      []string          `json:"dirs,omitempty"`    // directories that did not exist before, the outermost first
	jsonc.Insertion
}

// hash returns a short SHA-256 of s in hex.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func (m Machine) manifestFile() string { return filepath.Join(m.State, "installed.json") }

// readManifest returns the manifest, which is empty if the file doesn't exist. An
// unreadable manifest is an error, because continuing would lose the record of our
// entries.
func (m Machine) readManifest() (*manifest, error) {
	all := &manifest{Files: map[string]*record{}}
	b, err := os.ReadFile(m.manifestFile())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(b, all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the installation manifest: %w; without the file %s, entries are recognized by their command only", err, m.manifestFile())
	}
	for path, r := range all.Files {
		if r == nil {
			delete(all.Files, path)
		}
	}
	return all, nil
}

// recordOf returns a copy of the record of a file, or nil.
func (m *manifest) recordOf(path string) *record {
	r := m.Files[path]
	if r == nil {
		return nil
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	var c record
	if json.Unmarshal(b, &c) != nil {
		return nil
	}
	return &c
}

// saveRecord stores or, if r is nil, deletes the record of one file. It rereads the
// manifest, because another installation may have changed it. The caller must hold the
// lock.
func (m Machine) saveRecord(path string, r *record) error {
	all, err := m.readManifest()
	if err != nil {
		return err
	}
	if r == nil && all.Files[path] == nil {
		return nil
	}
	if r == nil {
		delete(all.Files, path)
	} else {
		all.Files[path] = r
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.State, 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(m.manifestFile(), append(b, '\n'), 0o600, keepOwner(m.manifestFile()))
}

// isModified reports whether the entry differs from the one that we wrote.
func (r *record) isModified(h handler) bool {
	return r != nil && len(r.Entries) > 0 && r.Entries[h.event] != hash(h.normalized)
}

func (r *record) binaries() []string {
	if r == nil {
		return nil
	}
	return r.Binaries
}

// addBinary records a binary that entries of the file run.
func (r *record) addBinary(binary string) {
	r.Binaries = append(slices.DeleteFunc(r.Binaries, func(b string) bool { return b == binary }), binary)
}
