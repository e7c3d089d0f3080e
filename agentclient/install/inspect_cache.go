package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
)

// inspection is the content of the settings of an account. Hooks keep the newest one in a file, because reading the
// settings of several agents takes longer than the rest of the hook.
type inspection struct {
	Key      string              `json:"key"` // hash of all files that the inspection depends on
	Hooks    []InstalledHooks    `json:"hooks"`
	Disabled map[string][]string `json:"disabled"` // by agent, see DisabledBy
}

// cacheFile is written by any program of the account, so it only serves reports to the hub, which are not verified.
func (m Machine) cacheFile() string { return filepath.Join(m.State, "inspected.json") }

// inspect returns the inspection of the current settings.
func (m Machine) inspect(known *manifest) (in inspection, err error) {
	isCached := m.Cache && len(known.Files) > 0 // without an installation there is little to read
	if isCached {
		in.Key = m.settingsKey(known)
		var cached inspection
		text, _, err := readSettings(m.cacheFile())
		if err == nil && json.Unmarshal(text, &cached) == nil && cached.Key == in.Key {
			return cached, nil
		}
	}
	if in.Hooks, err = Inspect(m); err != nil {
		return in, err
	}
	in.Disabled = map[string][]string{}
	hasError := false
	for i := range in.Hooks {
		agent := in.Hooks[i].Agent
		hasError = hasError || in.Hooks[i].Err != nil
		if _, isKnown := in.Disabled[agent]; !isKnown {
			in.Disabled[agent] = DisabledBy(m, agent)
		}
	}
	if isCached && !hasError { // an error has no JSON
		if text, err := json.Marshal(in); err == nil && os.MkdirAll(m.State, 0o700) == nil {
			_ = atomicfile.Replace(m.cacheFile(), text, 0o600) // the next hook inspects again
		}
	}
	return in, nil
}

// settingsKey identifies this program and the content of all files that Inspect and DisabledBy read. The times of files
// would not do: a program can set them.
func (m Machine) settingsKey(known *manifest) string {
	files := map[string]bool{}
	for i := range agentConfigs {
		a := &agentConfigs[i]
		for _, scope := range []Scope{User, Project, Local} {
			found, _ := a.settingsFiles(m, scope) // as for Inspect, an agent without the scope has none
			for _, file := range found {
				files[file] = true
			}
		}
		files[a.managedFile(m)] = true
		for _, setting := range disableSettings()[a.name] {
			files[setting.resolve(m)] = true
		}
	}
	for file := range known.Files {
		files[file] = true
	}
	all := sha256.New()
	if program, err := os.Executable(); err == nil {
		if info, err := os.Stat(program); err == nil {
			fmt.Fprintf(all, "%s %d %d\n", program, info.Size(), info.ModTime().UnixNano())
		}
	}
	records, _ := json.Marshal(known.Files) // texts always encode
	fmt.Fprintf(all, "%s %s\n", m.Home, records)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text, info, err := readSettings(file)
		var mode fs.FileMode
		if info != nil {
			mode = info.Mode()
		}
		fmt.Fprintf(all, "%q %v %v %d\n%s\n", file, err, mode, len(text), text)
	}
	return hex.EncodeToString(all.Sum(nil))
}
