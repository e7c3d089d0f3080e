package hookrun

import (
	"fmt"
	"slices"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// hookSharers are the agents that also run the hooks of another agent's settings.
var hookSharers = []string{"cursor", "copilot"}

// identifyCaller detects the agent that really runs this hook and switches to its
// adapter. It returns an error if that agent also has its own Hookback hook, which
// handles the call.
func (h *hookRun) identifyCaller(in hook.Input) error {
	caller := hook.Identify(h.agent.Name, in)
	if caller == h.agent.Name {
		return nil
	}
	real, known := hook.Find(caller)
	if !known {
		return nil
	}
	if slices.Contains(hookSharers, caller) && install.GatesCalls(cli.AccountHome(h.env), caller) {
		return fmt.Errorf("%s runs the hook of %s, and has its own", real.Title, h.agent.Title)
	}
	h.agent = real
	return nil
}
