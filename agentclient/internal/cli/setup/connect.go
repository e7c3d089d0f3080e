package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// Connection is a planned installation for the agents on this machine.
type Connection struct {
	// Agents are the titles of the agents whose settings would change, such as "Claude Code".
	Agents []string

	flags *installFlags
	plan  *install.Plan
}

// PlanConnection plans what hookback install would change with this address of a hub. It writes
// nothing.
func PlanConnection(env func(string) string, hub string) (*Connection, error) {
	i := &installFlags{Flags: cli.NewBareFlags("install", "")}
	i.AddHubFlags(env)
	i.scope, i.mode, i.Hub = string(install.User), string(install.Gate), hub
	m, err := coverage.NewMachine(env)
	if err != nil {
		return nil, err
	}
	if i.home = m.Home; len(install.Detect(m)) == 0 {
		return &Connection{}, nil
	}
	o, err := i.options(m, env)
	if err != nil {
		return nil, err
	}
	c := &Connection{flags: i}
	if c.plan, err = install.Install(m, o); err != nil {
		return nil, err
	}
	for k := range c.plan.Changes {
		if change := &c.plan.Changes[k]; change.HasChanges() && !slices.Contains(c.Agents, change.Title) {
			c.Agents = append(c.Agents, change.Title)
		}
	}
	return c, nil
}

// Apply writes the settings, pins the hub's key, and prints one line for each agent.
func (c *Connection) Apply(ctx context.Context, std cli.Streams) (status int) {
	failed := map[string]bool{}
	for _, f := range c.plan.Apply() {
		failed[f.File], status = true, cli.ExitProblem
		std.PrintError("%v; the settings are unchanged", f)
	}
	if failed[""] { // nothing was written
		return status
	}
	for _, title := range c.Agents {
		var files []string
		hooks, verb := 0, "added to"
		for k := range c.plan.Changes {
			change := &c.plan.Changes[k]
			if change.Title != title || !change.HasChanges() || failed[change.File] {
				continue
			}
			if strings.Contains(change.Before, "hookback") {
				verb = "updated in"
			}
			hooks += change.Hooks()
			files = append(files, abbreviateHome(c.flags.home, change.File))
			for _, note := range change.Notes {
				fmt.Fprintf(std.Err, "  ! %s\n", note)
			}
		}
		switch len(files) {
		case 0:
		case 1:
			fmt.Fprintf(std.Out, "%s: %s %s %s\n", title, formatCount(hooks, "hook"), verb, files[0])
		default:
			fmt.Fprintf(std.Out, "%s: %s %s %s\n", title, formatCount(hooks, "hook"), verb, filepath.Dir(files[0]))
		}
	}
	for _, p := range c.plan.Problems {
		status = cli.ExitProblem
		std.PrintError("%s: %v", install.AgentTitle(p.Agent), p)
	}
	for _, note := range slices.Compact(slices.Sorted(slices.Values(c.plan.Notes))) {
		fmt.Fprintf(std.Out, "  %s.\n", note)
	}
	fmt.Fprintf(std.Out, "  %s.\n", pinHub(ctx, c.flags.Flags, c.flags.Hub))
	return status
}
