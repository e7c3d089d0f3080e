package hookrun

import (
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// isDuplicate reports whether the hook is the plugin's, and the account's own settings run the hook of an
// installation for the event. Both would ask.
func (h *hookRun) isDuplicate() bool {
	return h.plugin && install.GatesCalls(cli.AccountHome(h.env), h.agent.Name, h.event)
}
