// Package freeze is hookback freeze.
package freeze

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema/control"
)

const help = `hookback freeze [--of APP [--only-session ID]] [--reason TEXT]
hookback freeze --list
hookback freeze --lift ID

Stops all agents, those of an application or one session at their next tool call, until
someone lifts the freeze in the dashboard or with --lift. A tool that already runs is not
stopped. Once the hub has an owner, lifting takes HOOKBACK_TOKEN of a person with the role
operator. --list prints the active freezes.
`

// Run runs hookback freeze.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	var app, session, reason, lift string
	var list bool
	f := cli.NewFlags("freeze", help, env)
	f.StringVar(&app, "of", "", "only the agents of this `app` (source_app)")
	f.StringVar(&session, "only-session", "", "only the session with this `id`; requires --of")
	f.StringVar(&reason, "reason", "", "`text` for people, on one line")
	f.StringVar(&lift, "lift", "", "lift the freeze with this `id`")
	f.BoolVar(&list, "list", false, "list the active freezes")
	if status, done := f.ParseFlags(args, std); done {
		return status
	}
	hubs, err := f.Hubs()
	if err != nil {
		return std.PrintError("%v", err)
	}
	r := transport.Request{Hub: hubs[0], Path: control.PathFreezes}
	switch {
	case list:
		var active control.FreezeList
		if err = f.Call(ctx, r, nil, &active); err == nil {
			for i := range active.Freezes {
				printFreeze(std.Out, &active.Freezes[i])
			}
		}
	case lift != "":
		id, bad := strconv.ParseInt(lift, 10, 64)
		if bad != nil || id < 1 {
			return std.PrintError("--lift %q: must be the number of a freeze; hookback freeze --list prints it", lift)
		}
		r.Method, r.Path = http.MethodDelete, r.Path+"/"+lift
		var lifted control.Freeze
		if err = f.Call(ctx, r, nil, &lifted); err == nil {
			fmt.Fprintf(std.Out, "Lifted freeze %d.\n", lifted.ID)
		}
	default:
		d := control.FreezeDraft{Scope: control.FreezeAll, SourceApp: app, SessionID: session, Reason: reason}
		if session != "" {
			d.Scope = control.FreezeSession
		} else if app != "" {
			d.Scope = control.FreezeApp
		}
		var made control.Freeze
		if err = f.Call(ctx, r, d, &made); err == nil {
			printFreeze(std.Out, &made)
		}
	}
	if err != nil {
		return std.PrintError("%s", cli.ErrorWithHint(err))
	}
	return cli.ExitOK
}

func printFreeze(w io.Writer, f *control.Freeze) {
	fmt.Fprintf(w, "%d\t%s\t%s\n", f.ID, f.Notice().Text(), f.Reason)
}
