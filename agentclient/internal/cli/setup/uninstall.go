package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

const uninstallHelp = `hookback uninstall [flags]

Removes Hookback from the settings of coding agents and changes nothing else: a file
without other changes is restored byte for byte. Entries that were changed by hand stay
and are listed; --force removes them too. Run it before you delete the program.

Without --scope it covers the settings of this user and of every project with an
installation from this account. It also works if the list of installations is lost,
because it recognizes entries by their command.

Exit status: 0 done, 1 something was left unchanged (the reason is on stderr), 2 wrong
usage.
`

// Uninstall runs hookback uninstall.
func Uninstall(_ context.Context, args []string, env func(string) string, std cli.Streams) int {
	i := &installFlags{}
	i.addCommonFlags(cli.NewBareFlags("uninstall", uninstallHelp))
	i.StringVar(&i.scope, "scope", "", "only these settings, a `scope`: user, project or local")
	if status, done := i.ParseArgs(args, std); done {
		return status
	}
	m, err := coverage.NewMachine(env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	if len(i.Positional) > 0 {
		return std.PrintError("uninstall takes flags only, not %q; name agents with --agent", i.Positional[0])
	}
	o := install.Options{Scope: install.Scope(i.scope), Force: i.force}
	if strings.Join(i.agents, "") != "" && !(len(i.agents) == 1 && i.agents[0] == "auto") {
		if o.Agents, err = i.selectedAgents(m); err != nil {
			return std.PrintError("%v", err)
		}
	}
	p, err := install.Remove(m, o)
	if err != nil {
		return std.PrintError("%v", err)
	}
	found := slices.ContainsFunc(p.Changes, func(c install.Change) bool { return c.HasChanges() || len(c.Notes) > 0 })
	i.quiet, i.home = true, m.Home
	status := i.apply(p, std)
	if !found && status == cli.ExitOK {
		fmt.Fprintln(std.Out, "Nothing to remove: Hookback is not in any of these settings.")
	}
	return status
}
