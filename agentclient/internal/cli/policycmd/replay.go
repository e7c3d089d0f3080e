package policycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

const policyTestHelp = `hookback policy test [FILE] [flags]

Asks the hub what a policy would have decided about the tool calls of the last 30 days, and
prints the counts and examples. It tests FILE, or each policy that applies here by itself.
A policy can have 32 KiB. It changes nothing and asks no one.
`

// maxExamples is the number of calls that are printed for each rule.
const maxExamples = 3

// replayReport is the result of a replay of one policy file.
type replayReport struct {
	File string `json:"file"`
	history.Replay
}

func policyTest(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("policy test", policyTestHelp)
	f.AddHubFlags(env)
	asJSON := f.Bool("json", false, "print the results as a JSON list, one for each file")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	reports, drafts, err := readDrafts(f.Positional, env)
	if err != nil {
		fmt.Fprintln(std.Err, err)
		return cli.ExitProblem
	}
	if len(drafts) == 0 {
		return std.PrintError("no rules to test; hookback policy init writes some")
	}
	client := agentclient.New(f.Options())
	defer client.Close()
	for i, draft := range drafts {
		if reports[i].Replay, err = client.ReplayPolicy(ctx, draft); err != nil {
			return std.PrintError("%s: %s", reports[i].File, cli.ErrorWithHint(err))
		}
	}
	if *asJSON {
		if err := json.NewEncoder(std.Out).Encode(reports); err != nil {
			return std.PrintError("%v", err)
		}
		return cli.ExitOK
	}
	for i := range reports {
		fmt.Fprint(std.Out, strings.Repeat("\n", min(i, 1)), &reports[i])
	}
	return cli.ExitOK
}

// readDrafts reads the policies that have rules, and returns an empty report and a draft for each.
func readDrafts(words []string, env func(string) string) (reports []replayReport, drafts []history.ReplayDraft, err error) {
	source, files, err := selectPolicyFiles(words, env)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		p, err := policy.Read(file)
		if errors.Is(err, fs.ErrNotExist) && len(words) == 0 {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if len(p.Rules()) == 0 {
			continue
		}
		text, err := plaintext.ReadPolicy(file)
		if err != nil {
			return nil, nil, err
		}
		draft := history.ReplayDraft{Policy: string(text), Origin: history.OriginUser}
		if len(words) == 0 && !source.MayAllow(file) {
			draft.Origin = history.OriginProject
		}
		reports, drafts = append(reports, replayReport{File: file}), append(drafts, draft)
	}
	return reports, drafts, nil
}

// String formats the report for people. It has the examples of each rule in the order of the policy.
func (r *replayReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nCalls of the last %d days: %d. The policy asks about %d, denies %d and allows %d; no opinion on %d.\n",
		r.File, r.Days, r.Looked, r.Asked, r.Denied, r.Allowed, r.Unmatched)
	if r.Opposed > 0 {
		fmt.Fprintf(&b, "A person decided the opposite of %d.\n", r.Opposed)
	}
	if !r.Complete {
		b.WriteString("The hub has more calls of these days than it compared.\n")
	}
	examples := slices.SortedStableFunc(slices.Values(r.Examples), func(a, b history.ReplayExample) int { return a.Rule - b.Rule })
	last, printed := -1, 0
	for i := range examples {
		e := &examples[i]
		if e.Rule != last {
			fmt.Fprintf(&b, "\n%4d. %s\n", e.Rule+1, printable(e.Sentence, 300))
			last, printed = e.Rule, 0
		}
		if printed++; printed > maxExamples {
			continue
		}
		fmt.Fprintf(&b, "      %s #%d %s", e.Effect, e.Event, printable(e.Tool+": "+e.Title, 120))
		if e.Opposed {
			b.WriteString(" (a person decided the opposite)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// printable returns text on one line of at most n characters, without control characters
// that a terminal would obey.
func printable(text string, n int) string {
	return schema.Shorten(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '·'
		default:
			return r
		}
	}, text[:min(len(text), 8*n)]), n)
}
