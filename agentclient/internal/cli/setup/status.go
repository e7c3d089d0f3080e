package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema/control"
)

const statusHelp = `hookback status [flags]

Prints for each installed agent of this account whether it runs the gate, and reports it
to the hub. It starts no program.

  proven        an event came with the agent's version, the policy and the hooks of now
  not proven    no event came since the installation
  changed       the version, the policy or the hooks differ from those of the newest event
  observe only  the hooks only send events
  not loaded    the agent can't load or run the hooks
  off           there is no hook for tool calls, or a setting disables hooks

Each state but proven comes with its remedy. hookback doctor also tests the gate.

Exit status: 0 every agent is proven, 1 one is not or none is installed, 2 wrong usage.
`

// Status runs hookback status.
func Status(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("status", statusHelp)
	f.AddHubFlags(env)
	asJSON := f.Bool("json", false, "print the states as JSON")
	if status, done := f.ParseFlags(args, std); done {
		return status
	}
	hubs, err := f.Hubs()
	if err != nil {
		return std.PrintError("%v", err)
	}
	hub, _, hubErr := newDoctorClient(ctx, f, hubs[0])
	all, err := coverageStates(ctx, env, hub, hubErr)
	if err != nil {
		return std.PrintError("%v", err)
	}
	isProven := func(c control.Coverage) bool { return c.State == control.CoverageProven }
	proven := len(all) > 0 && !slices.ContainsFunc(all, func(c control.Coverage) bool { return !isProven(c) })
	status := cli.ExitProblem
	if proven {
		status = cli.ExitOK
	}
	if *asJSON {
		if err := cli.WriteJSON(std.Out, map[string]any{"proven": proven, "agents": append([]control.Coverage{}, all...)}); err != nil {
			return std.PrintError("%v", err)
		}
		return status
	}
	if len(all) == 0 {
		fmt.Fprintln(std.Out, "Hookback is not installed for any agent.\n  → hookback install")
	}
	for i := range all {
		c := &all[i]
		fmt.Fprintf(std.Out, "%s %-18s %s\n", map[bool]string{true: "✓", false: "✗"}[isProven(*c)], install.AgentTitle(c.Agent), describeState(c))
		if c.Remedy != "" {
			fmt.Fprintf(std.Out, "  → %s\n", c.Remedy)
		}
	}
	return status
}

// coverageStates reports the installations of this account to the hub and returns their states. hubErr is why there is
// no hub.
func coverageStates(ctx context.Context, env func(string) string, hub *doctorClient, hubErr error) ([]control.Coverage, error) {
	_, policyFile := cli.AccountFiles(env)
	report, err := (coverage.Machine{Env: env, PolicyFile: policyFile}).Report()
	if err != nil {
		return nil, err
	}
	var list control.CoverageList
	if hubErr == nil {
		report.Agents = append([]control.Installation{}, report.Agents...)
		hubErr = hub.call(ctx, control.PathCoverage, "", report, &list)
	}
	states := make([]control.Coverage, 0, len(report.Agents))
	for _, now := range report.Agents {
		i := slices.IndexFunc(list.Agents, func(c control.Coverage) bool { return c.Agent == now.Agent })
		switch {
		case i >= 0 && now.State == "":
			c := list.Agents[i]
			if c.Remedy != "" {
				c.Remedy = now.Remedy
			}
			states = append(states, c)
		case now.State == "":
			states = append(states, control.Coverage{
				Host: report.Host, Account: report.Account, Agent: now.Agent, Version: now.Version, State: control.CoverageNotProven,
				Detail: fmt.Sprintf("the hub does not tell: %v", hubErr), Remedy: "hookback doctor",
			})
		default:
			states = append(states, control.Coverage{
				Host: report.Host, Account: report.Account, Agent: now.Agent, Version: now.Version, State: now.State, Detail: now.Detail, Remedy: now.Remedy,
			})
		}
	}
	return states, nil
}

// describeState returns the state with its reason, such as "proven: version 2.1.332, 3 min ago".
func describeState(c *control.Coverage) string {
	text := string(c.State)
	if c.State == control.CoverageProven {
		return fmt.Sprintf("%s: version %s, %s ago", text, cmp.Or(c.Version, "unknown"), formatAge(time.Since(time.UnixMilli(int64(c.ProvenAt)))))
	}
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	return text
}
