// Package away is hookback report.
package away

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

const help = `hookback report [--since 12h] [--check] [--json]

Prints what happened while you were away, as the dashboard shows it: who waits for an
answer and since when, who finished, what was refused, what ran unasked with a risk, errors,
loops and the cost. Each number comes with the address of the list of exactly those rows.

--check lets the hub count each number a second time, in another way.

Exit status: 0, also if nothing happened; 1 a second count differs, or could not be made;
2 no hub or wrong usage.
`

// Run runs hookback report.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("report", help)
	f.AddHubFlags(env)
	since := f.String("since", "12h", "how long ago, such as `12h` or 3d, at most 31d; or a time in Unix ms")
	check := f.Bool("check", false, "count each number a second time")
	asJSON := f.Bool("json", false, "print the report as JSON")
	if status, done := f.ParseFlags(args, std); done {
		return status
	}
	hubs, err := f.Hubs()
	if err != nil {
		return std.PrintError("%v", err)
	}
	query := url.Values{"since": {*since}}
	if *check {
		query.Set("check", "1")
	}
	var r history.Report
	if err := f.Call(ctx, transport.Request{Hub: hubs[0], Path: history.PathReport + "?" + query.Encode()}, nil, &r); err != nil {
		return std.PrintError("%s", cli.ErrorWithHint(err))
	}
	if *asJSON {
		if err := cli.WriteJSON(std.Out, r); err != nil {
			return std.PrintError("%v", err)
		}
	} else {
		printReport(std.Out, socket.HTTPAddress(hubs[0]), &r, *check)
	}
	if *check && !isConfirmed(&r) {
		return cli.ExitProblem
	}
	return cli.ExitOK
}

// isConfirmed reports whether each number was counted twice, with the same result.
func isConfirmed(r *history.Report) bool {
	for i := range r.Lines {
		if r.Lines[i].Differs != "" {
			return false
		}
	}
	return r.Checked
}

func printReport(w io.Writer, hub string, r *history.Report, check bool) {
	at := func(ms schema.Millis) string { return time.UnixMilli(int64(ms)).Format("2006-01-02 15:04") }
	fmt.Fprintf(w, "From %s to %s:\n", at(r.Since), at(r.Until))
	if r.KnownFrom > 0 {
		fmt.Fprintf(w, "The hub keeps no events from before %s.\n", at(r.KnownFrom))
	}
	if len(r.Lines) == 0 {
		fmt.Fprintln(w, "Nothing happened.")
	}
	for i := range r.Lines {
		line := &r.Lines[i]
		fmt.Fprintf(w, "%s %s\n  %s%s\n", line.Number, line.Text, hub, line.Link)
		if line.Differs != "" {
			fmt.Fprintf(w, "  ✗ The second count found %s.\n", line.Differs)
		}
	}
	switch {
	case isConfirmed(r):
		fmt.Fprintln(w, "✓ Each number was counted twice.")
	case check && !r.Checked:
		fmt.Fprintln(w, "✗ Not all numbers were counted twice: there is too much history.")
	}
}
