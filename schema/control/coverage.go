package control

import "github.com/hookback/hookback/schema"

// PathCoverage lists whether agents run the gate, by machine and account. A POST reports one machine.
const PathCoverage = "/api/coverage"

// GateMember is the name of the member of an event with its GateFacts.
const GateMember = "gate"

// GateFacts are the member "gate" of an event: facts about the hook that an agent ran. Only an event at the
// start or the end of a session or a turn has more than Client and Host, so that calls do not wait for it.
type GateFacts struct {
	Client   string `json:"client"`             // the hook's version
	Host     string `json:"host,omitempty"`     // the machine's name
	Policy   string `json:"policy,omitempty"`   // hash of the account's policy
	Settings string `json:"settings,omitempty"` // hash of the agent's entries for hooks
	Version  string `json:"version,omitempty"`  // of the agent
	// AppChosen states that --app named the event's application. Otherwise its name is that of a directory.
	AppChosen bool `json:"appChosen,omitempty"`
	// Agents are the installations of the account, this one included.
	Agents []Installation `json:"agents,omitempty"`
}

// Limits of a MachineReport, and of the Agents of GateFacts.
const (
	MaxInstallations   = 64
	MaxInstallationRow = 500 // characters of a text
)

// CoverageState states whether an agent runs the gate.
type CoverageState string

// The states. The hub derives the first two from the newest event.
const (
	CoverageProven    CoverageState = "proven"     // an event came with the version, the policy and the entries of now
	CoverageNotProven CoverageState = "not proven" // no event came since the installation
	CoverageChanged   CoverageState = "changed"    // the version, the policy or the entries differ from those of the newest event
	CoverageObserves  CoverageState = "observe only"
	CoverageNotLoaded CoverageState = "not loaded" // the agent can't load or run the entries
	CoverageOff       CoverageState = "off"        // there are no entries for tool calls, or a setting disables them
)

// Installation is the present effect of an agent's settings, as its machine reports it.
type Installation struct {
	Agent    string `json:"agent"`             // such as claude-code
	Version  string `json:"version,omitempty"` // of the agent's program; absent: unknown
	Policy   string `json:"policy,omitempty"`
	Settings string `json:"settings,omitempty"`
	// State is changed, observe only, not loaded or off. It is absent if the agent should run the gate.
	State  CoverageState `json:"state,omitempty" jsonschema:"enum=changed,enum=observe only,enum=not loaded,enum=off"`
	Detail string        `json:"detail,omitempty"` // the reason for the state
	// Remedy is the command that mends it, or the step that proves the gate. It stays on the machine: a hub shows its own.
	Remedy string `json:"-"`
}

// MachineReport is the body of POST /api/coverage: all installations of an account on a machine. An agent that was
// reported before and is missing is off.
type MachineReport struct {
	Host    string         `json:"host"`
	Account string         `json:"account"`
	Agents  []Installation `json:"agents"` // at most MaxInstallations (64)
}

// CoverageList is the result of GET and POST /api/coverage. A POST returns the agents of its machine and account only.
type CoverageList struct {
	Agents []Coverage `json:"agents"`
}

// Coverage states whether an agent of an account on a machine runs the gate. Machines report it, so nothing in it is
// verified.
type Coverage struct {
	Host    string        `json:"host"`
	Account string        `json:"account"`
	Agent   string        `json:"agent"`
	State   CoverageState `json:"state" jsonschema:"enum=proven,enum=not proven,enum=changed,enum=observe only,enum=not loaded,enum=off"`
	Detail  string        `json:"detail,omitempty"` // the reason for a state that the hub derived
	Remedy  string        `json:"remedy,omitempty"` // the command that mends it, or the step that proves the gate
	// Reported is the reason for the state in the machine's words, which are not verified.
	Reported string `json:"reported,omitempty"`
	Version  string `json:"version,omitempty"` // of the agent
	Client   string `json:"client,omitempty"`  // version of the hook that sent the newest event

	ReportedAt schema.Millis `json:"reportedAt,omitempty"` // of the machine's newest report
	ProvenAt   schema.Millis `json:"provenAt,omitempty"`   // of the newest event
}
