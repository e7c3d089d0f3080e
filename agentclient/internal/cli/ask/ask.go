// Package ask is hookback ask and send.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
)

const askHelp = `hookback ask "question" [flags]

Asks a person and waits for the answer. Without --text or --choice the person approves
or denies. Prints approved, denied, the text or the chosen label.
`

// askFlags holds the flags of ask.
type askFlags struct {
	*cli.Flags
	text          bool
	choices       []string
	json          bool
	timeout       time.Duration
	risk, why     string
	approvals     int
	to            string
	onUnreachable string
	onTimeout     string
	receipt       string
	commit        string
}

func newAskFlags(env func(string) string) *askFlags {
	a := &askFlags{Flags: cli.NewFlags("ask", askHelp, env)}
	a.AddUnsignedFlag()
	a.BoolVar(&a.text, "text", false, "ask for a text")
	a.ListVar(&a.choices, "choice", "offer this `label`; repeat the flag for each choice")
	a.BoolVar(&a.json, "json", false, "print the whole decision as JSON")
	a.timeout = schema.DefaultTimeout
	a.Func("timeout", "how long to wait, a `duration` such as 90s or 10m; 0: no limit (default 5m)", a.setTimeout)
	a.StringVar(&a.risk, "risk", "", "the risk `level`: low, medium, high or critical")
	a.IntVar(&a.approvals, "approvals", 0, "how many people must agree, a `number` (default 1)")
	a.StringVar(&a.to, "to", "", "the people who may answer: owner, owner_admins or `names` separated by commas (default: anyone; with --approvals owner_admins)")
	a.StringVar(&a.why, "why", "", "the `reason` for asking, shown with the request")
	a.StringVar(&a.commit, "commit", "", "the Git `commit` that this is about, 40 or 64 hex digits")
	a.StringVar(&a.receipt, "receipt", "", "write the signed proof of the decision to this `file` (see hookback receipt)")
	a.StringVar(&a.onUnreachable, "on-unreachable", string(agentclient.Deny), "the `outcome` if no hub is reachable: deny, allow or fail (default deny)")
	a.StringVar(&a.onTimeout, "on-timeout", schema.EmitTimeout, "the `action` if no one answers in time: emit_timeout (exit status 2) or fail_run (exit status 3: the run should stop) (default emit_timeout)")
	return a
}

// setTimeout parses --timeout.
func (a *askFlags) setTimeout(text string) (err error) {
	a.timeout, err = time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("must be a number with a unit, such as 90s or 10m")
	case a.timeout < 0:
		return errors.New("must not be negative; 0 means no limit")
	default:
		return nil
	}
}

// buildRequest returns the question, or an error that names the invalid argument.
func (a *askFlags) buildRequest() (agentclient.Request, error) {
	r := agentclient.Request{
		Kind: schema.Permission, Choices: a.choices, Timeout: a.timeout,
		Risk: schema.Risk(a.risk), OnUnreachable: agentclient.Fallback(a.onUnreachable), FailRun: a.onTimeout == schema.FailRun,
	}
	switch {
	case len(a.Positional) == 0:
		return r, errors.New(`ask requires a question: hookback ask "May I?"`)
	case len(a.Positional) > 1:
		return r, fmt.Errorf("ask takes one question, not %d arguments; put the question in quotes", len(a.Positional))
	case a.text && len(a.choices) > 0:
		return r, errors.New("use --text or --choice, not both")
	case !slices.Contains([]agentclient.Fallback{agentclient.Deny, agentclient.Allow, agentclient.Fail}, r.OnUnreachable):
		return r, fmt.Errorf("--on-unreachable %s: must be deny, allow or fail", a.onUnreachable)
	case !slices.Contains([]string{schema.EmitTimeout, schema.FailRun}, a.onTimeout):
		return r, fmt.Errorf("--on-timeout %s: must be emit_timeout or fail_run", a.onTimeout)
	case a.text:
		r.Kind = schema.FreeText
	case len(a.choices) > 0:
		r.Kind = schema.Choice
	}
	if a.timeout == 0 {
		r.Timeout = agentclient.Forever
	}
	if a.why != "" || a.commit != "" {
		r.Context = &schema.Context{Why: a.why, Commit: strings.ToLower(a.commit)}
	}
	r.RequiredApprovals, r.Recipients = a.approvals, parseRecipients(a.to)
	r.Question = a.Positional[0]
	return r, nil
}

// parseRecipients parses --to. It returns nil if to is empty.
func parseRecipients(to string) *schema.Recipients {
	switch to {
	case "":
		return nil
	case "anyone", "owner", "owner_admins":
		return &schema.Recipients{Mode: to}
	}
	r := &schema.Recipients{Mode: "selected_members"}
	for name := range strings.SplitSeq(to, ",") {
		r.Members = append(r.Members, strings.TrimSpace(name))
	}
	return r
}

// Run runs hookback ask.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	a := newAskFlags(env)
	if status, done := a.ParseArgs(args, std); done {
		return status
	}
	r, err := a.buildRequest()
	if err != nil {
		return std.PrintError("%v", err)
	}
	o := a.Options()
	o.OnFirstContact = std.PrintFirstContact
	client := agentclient.New(o)
	defer client.Close() // waits until the acknowledgement of the answer is sent
	line := newWaitLine(std.Err)
	r.OnWaiting = line.show
	d, err := client.Ask(ctx, r)
	line.clear()
	status := a.printDecision(d, err, std)
	if a.receipt == "" || status == cli.ExitError || status == cli.ExitFailRun {
		return status
	}
	if err := a.saveReceipt(ctx, client, d.EventID); err != nil {
		return std.PrintError("the decision above has no receipt: %s", cli.ErrorWithHint(err))
	}
	return status
}

// saveReceipt writes the receipt of an answered question to the file of --receipt.
func (a *askFlags) saveReceipt(ctx context.Context, client *agentclient.Client, id schema.EventID) error {
	if id == 0 {
		return errors.New("no hub has stored the question")
	}
	r, err := client.Receipt(ctx, id)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(a.receipt, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(cli.WriteJSON(file, r), file.Close())
}

// printDecision prints d or err and returns the exit status.
func (a *askFlags) printDecision(d agentclient.Decision, err error, std cli.Streams) int {
	if a.json {
		output := struct {
			Approved bool `json:"approved"`
			Answered bool `json:"answered"`
			agentclient.Decision
		}{d.Approved(), d.Answered(), d}
		text, jsonErr := json.Marshal(output)
		if jsonErr != nil {
			return std.PrintError("encode the decision as JSON: %v", jsonErr)
		}
		fmt.Fprintf(std.Out, "%s\n", text)
	}
	switch {
	case errors.Is(err, agentclient.ErrTimedOut):
		std.PrintError("%s; the run should stop here", a.noAnswerText(d))
		return cli.ExitFailRun
	case err != nil:
		return std.PrintError("%s", a.errorText(d, err))
	}
	switch {
	case d.Answered() && d.Outcome == schema.Deny && d.Kind == schema.Permission:
		a.printAnswer(std, "denied")
		if d.Reason != "" {
			fmt.Fprintln(std.Err, "hookback: "+denialText(d))
		}
		return cli.ExitDenied
	case d.Approved():
		a.printAnswer(std, "approved")
		if d.Source == agentclient.NoHub {
			fmt.Fprintln(std.Err, "hookback: no hub is reachable; approved by --on-unreachable allow")
		}
		return cli.ExitOK
	case d.Answered():
		a.printAnswer(std, d.Text+d.Choice)
		return cli.ExitOK
	default:
		return std.PrintError("%s", a.noAnswerText(d))
	}
}

func (a *askFlags) printAnswer(std cli.Streams, answer string) {
	if !a.json {
		fmt.Fprintln(std.Out, answer)
	}
}

func denialText(d agentclient.Decision) string {
	who := "a person"
	if d.RespondedBy != nil && d.RespondedBy.Name != "" {
		who = d.RespondedBy.Name
	}
	return who + " denied it: " + d.Reason
}

// noAnswerText states why no one answered, that nothing was approved, and the next step.
func (a *askFlags) noAnswerText(d agentclient.Decision) string {
	switch d.Outcome {
	case agentclient.Unreachable:
		return "no hub is reachable at " + a.HubAddress() + "; no one was asked and nothing was approved; " +
			"start a hub (hookback up) or name another with --hub"
	case agentclient.Malformed:
		if d.Reason != "" {
			return strings.TrimRight(d.Reason, ".")
		}
		return "the hub sent an answer that does not match the question; nothing was approved; ask again"
	case schema.Timeout:
		return fmt.Sprintf("no one answered within %v; nothing was approved; ask again, or allow more time with --timeout", a.timeout)
	case schema.NoQuorum:
		return "the voters did not agree (" + formatVotes(d.Votes) + "); nothing was approved"
	case schema.Cancelled, schema.Withdrawn:
		text := "the question ended without an answer (" + schema.EndText(d.Outcome, d.Source) + "); nothing was approved"
		if d.Reason != "" {
			text += ": " + d.Reason
		}
		return text
	default:
		return "the question ended without an answer (" + string(d.Outcome) + "); nothing was approved"
	}
}

// formatVotes lists the voters and their choices.
func formatVotes(all []schema.Vote) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = v.User + ": " + v.Choice
	}
	return strings.Join(texts, ", ")
}

// errorText explains an error of Client.Ask.
func (a *askFlags) errorText(d agentclient.Decision, err error) string {
	switch {
	case errors.Is(err, context.Canceled) && d.Outcome == schema.Withdrawn:
		return "interrupted; the question was withdrawn"
	case errors.Is(err, context.Canceled):
		return "interrupted; the hub did not confirm the withdrawal, so the question stays in its inbox until it times out"
	default:
		return cli.ErrorWithHint(err)
	}
}
