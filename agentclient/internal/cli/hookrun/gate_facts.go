package hookrun

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// settingsEvents are the agents' events at the start and the end of a session or a turn, in lower case.
var settingsEvents = []string{
	"sessionstart", "sessionend", "stop", "configchange", "afteragent", "agentspawn", "taskstart", "taskcomplete",
	"session.created", "session.idle", "post_cascade_response",
}

// addGateFacts adds what proves that the agent ran this hook. Only the events in settingsEvents get the settings of the
// account's agents: to read them takes as long as the rest of the hook.
func (h *hookRun) addGateFacts(e *schema.Event) {
	facts := control.GateFacts{Client: cli.Version(), AppChosen: h.app != ""}
	facts.Host, _ = os.Hostname()
	if slices.Contains(settingsEvents, strings.ToLower(e.HookEventType)) {
		if report, err := (coverage.Machine{Env: h.env, PolicyFile: h.policy, Cache: true}).Report(); err == nil {
			facts.Agents = report.Agents
			if i := slices.IndexFunc(report.Agents, func(a control.Installation) bool { return a.Agent == e.Agent }); i >= 0 {
				facts.Policy, facts.Settings, facts.Version = report.Agents[i].Policy, report.Agents[i].Settings, report.Agents[i].Version
			}
		}
	}
	if e.Extra == nil {
		e.Extra = map[string]json.RawMessage{}
	}
	e.Extra[control.GateMember], _ = json.Marshal(facts) // texts always encode
}
