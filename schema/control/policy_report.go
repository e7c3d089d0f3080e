package control

// PolicyEvent is the type of the event with which a hook reports the policy files that apply to a
// session. Its payload is a PolicyReport.
const PolicyEvent = "HookbackPolicy"

// MaxPolicyReport limits the texts of a PolicyReport, in bytes.
const MaxPolicyReport = 32 << 10

// PolicyReport is the payload of an event of type HookbackPolicy. A hook sends it when a session starts,
// and again only if a file changed: its idempotency key has the hash of the report.
type PolicyReport struct {
	Host  string       `json:"host,omitempty"` // the machine's name
	Cwd   string       `json:"cwd,omitempty"`  // the agent's directory
	Files []PolicyFile `json:"files"`          // in the order of evaluation
}

// PolicyFile is a policy file in a PolicyReport.
type PolicyFile struct {
	Origin  string `json:"origin" jsonschema:"enum=user,enum=project"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`  // of the file, in hexadecimal; absent: it can't be read
	Text    string `json:"text,omitempty"`    // the file; absent if it does not fit in the report
	Problem string `json:"problem,omitempty"` // why there is no text
}
