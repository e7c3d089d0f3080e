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
)

// manifest is what was written where.
type manifest struct {
	Files map[string]*record `json:"files"` // :: path, as the agent knows it → what we did there
}

// record is what was done to one file.
type record struct {
	Agent     string            `json:"agent"`
	Scope     Scope             `json:"scope"`
	Binaries  []string          `json:"binaries"`          // that entries called, the newest last
	Entries   map[string]string `json:"entries,omitempty"` // :: event → hash of what its entry says
	OwnedHash string            `json:"whole,omitempty"`   // hash of a file that is all ours
	Created   bool              `json:"created,omitempty"` // the file was not there
	Dirs      []string          `json:"dirs,omitempty"`    // directories that were not there, the outermost first
	insertion
}

// hash names a text.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func (m Machine) manifestFile() string { return filepath.Join(m.State, "installed.json") }

// readManifest reads it; one that isn't there is empty. One that can't be read is
// an error: forgetting it would forget what is ours.
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
		return nil, fmt.Errorf("the list of what was installed can't be read: %w; without the file %s, entries are known by their command alone", err, m.manifestFile())
	}
	for path, r := range all.Files {
		if r == nil {
			delete(all.Files, path)
		}
	}
	return all, nil
}

// recordOf is a copy of what is known of a file, or nil.
func (all *manifest) recordOf(path string) *record {
	r := all.Files[path]
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

// saveRecord stores what became of one file. Others may have been changed meanwhile by
// another installation; callers hold the lock.
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
	return replaceFile(m.manifestFile(), append(b, '\n'), 0o600)
}

// isModified reports whether the entry of an event is not as we wrote it.
func (r *record) isModified(h handler) bool {
	return r != nil && len(r.Entries) > 0 && r.Entries[h.event] != hash(h.normalized)
}

func (r *record) binaries() []string {
	if r == nil {
		return nil
	}
	return r.Binaries
}

// addBinary notes a binary that entries of the file call.
func (r *record) addBinary(binary string) {
	r.Binaries = append(slices.DeleteFunc(r.Binaries, func(b string) bool { return b == binary }), binary)
}
