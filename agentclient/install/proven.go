package install

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"
)

// provenJSON is written by make e2e-agents, never by hand.
//
//go:embed proven.json
var provenJSON []byte

var provenVersions = sync.OnceValue(func() map[string]string {
	versions := map[string]string{}
	if err := json.Unmarshal(provenJSON, &versions); err != nil {
		panic("agentclient/install/proven.json: " + err.Error())
	}
	return versions
})

// ProvenVersion returns the newest version of the agent with which all its tests of the real program
// passed, or "" if no test runs the agent: then its hooks follow its documentation.
func ProvenVersion(agent string) string { return provenVersions()[agent] }

// IsNewer reports whether version a is newer than b.
func IsNewer(a, b string) bool { return slices.Compare(versionNumbers(a), versionNumbers(b)) > 0 }
