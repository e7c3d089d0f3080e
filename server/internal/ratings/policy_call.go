package ratings

import (
	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/server/internal/sessions/digest"
)

// commonName returns the name that policies use for a tool of any agent.
func commonName(tool string) string {
	if _, isShell := call.ShellOf(tool); isShell {
		return "Bash"
	}
	return tool
}

func (f *callFacts) policyCall() policy.Call {
	return policy.Call{ID: f.useID, Name: f.tool, Alias: commonName(f.tool), Command: f.command(), Arguments: f.arguments}
}

// reading returns the call as it is judged and shown.
func (f *callFacts) reading() *call.Call {
	return call.Read(call.Input{Agent: call.KnownAgent(f.agent), Tool: f.tool, Dir: f.cwd, Arguments: f.arguments})
}

// command returns the command line of the call as an agent's adapter finds it, or "". The policy reads the
// rest: thousands of past calls need not be read twice.
func (f *callFacts) command() (command string) {
	digest.EachMember(f.arguments, func(name string, value []byte) {
		if command == "" && call.IsCommand(f.tool, name) {
			command = digest.StringValue(value)
		}
	})
	return command
}
