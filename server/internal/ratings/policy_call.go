package ratings

import (
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/server/internal/risk/call"
	"github.com/hookback/hookback/server/internal/sessions/digest"
)

// commonName returns the name that policies use for a tool of any agent.
func commonName(tool string) string {
	switch call.KindOf(tool) {
	case call.Shell, call.PowerShell, call.Cmd:
		return "Bash"
	default:
		return tool
	}
}

func (f *callFacts) policyCall() policy.Call {
	return policy.Call{ID: f.useID, Name: f.tool, Alias: commonName(f.tool), Command: f.command(), Arguments: f.arguments}
}

// command returns the command line of the call, or "".
func (f *callFacts) command() (command string) {
	digest.EachMember(f.arguments, func(name string, value []byte) {
		if command == "" && call.IsCommandName(call.NormalizeName(name)) {
			command = digest.StringValue(value)
		}
	})
	return command
}
