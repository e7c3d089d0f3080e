package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

const askHelp = `hookback ask "question" [flags]

Asks a person and waits. Without --text or --choice the answer is yes or no.
Prints approved, denied, the text or the chosen label.
`

// askFlags is what the flags of ask say.
type askFlags struct {
	*flags
	text          bool
	choices       stringList
	json          bool
	timeout       time.Duration
	risk, why     string
	approvals     int
	to            string
	onUnreachable string
	onTimeout     string
}

func newAskFlags(env func(string) string) *askFlags {
	a := &askFlags{flags: newFlags("ask", askHelp, env)}
	a.BoolVar(&a.text, "text", false, "ask for a text")
	a.Var(&a.choices, "choice", "offer this `label`; give it once for each")
	a.BoolVar(&a.json, "json", false, "print the whole decision as JSON")
	a.timeout = schema.DefaultTimeout
	a.Func("timeout", "how long a person has, a `duration` such as 90s or 10m; 0: for ever (default 5m)", a.setTimeout)
	a.StringVar(&a.risk, "risk", "", "how bad it can get, a `level`: low, medium, high or critical")
	a.IntVar(&a.approvals, "approvals", 0, "how many people have to agree, a `number` (default 1)")
	a.StringVar(&a.to, "to", "", "who may answer: owner, owner_admins, or `names` with commas (default: anyone; with --approvals owner_admins)")
	a.StringVar(&a.why, "why", "", "the `reason` for asking, shown on the card")
	a.StringVar(&a.onUnreachable, "on-unreachable", string(agentclient.Deny), "the `outcome` without a hub: deny, allow or fail (default deny)")
	a.StringVar(&a.onTimeout, "on-timeout", schema.EmitTimeout, "what no answer in time `means`: emit_timeout (exit status 2) or fail_run (3: the run should stop) (default emit_timeout)")
	return a
}

// setTimeout reads --timeout.
func (a *askFlags) setTimeout(text string) (err error) {
	a.timeout, err = time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("it must be a number with its unit, such as 90s or 10m")
	case a.timeout < 0:
		return errors.New("it must not be negative; 0 waits for ever")
	default:
		return nil
	}
}

// buildRequest makes the question, or says what is wrong with the command line.
func (a *askFlags) buildRequest() (agentclient.Request, error) {
	r := agentclient.Request{
		Kind: schema.Permission, Choices: a.choices, Timeout: a.timeout,
		Risk: schema.Risk(a.risk), OnUnreachable: agentclient.Fallback(a.onUnreachable), FailRun: a.onTimeout == schema.FailRun,
	}
	switch {
	case len(a.positional) == 0:
		return r, errors.New(`what is the question? hookback ask "May I?"`)
	case len(a.positional) > 1:
		return r, fmt.Errorf("ask takes one question, not %d words; put it in quotes", len(a.positional))
	case a.text && len(a.choices) > 0:
		return r, errors.New("it is --text or --choice, not both")
	case !slices.Contains([]agentclient.Fallback{agentclient.Deny, agentclient.Allow, agentclient.Fail}, r.OnUnreachable):
		return r, fmt.Errorf("--on-unreachable %s: it must be deny, allow or fail", a.onUnreachable)
	case !slices.Contains([]string{schema.EmitTimeout, schema.FailRun}, a.onTimeout):
		return r, fmt.Errorf("--on-timeout %s: it must be emit_timeout or fail_run", a.onTimeout)
	case a.text:
		r.Kind = schema.FreeText
	case len(a.choices) > 0:
		r.Kind = schema.Choice
	}
	if a.timeout == 0 {
		r.Timeout = agentclient.Forever
	}
	if a.why != "" {
		r.Context = &schema.Context{Why: a.why}
	}
	if a.approvals != 0 || a.to != "" {
		r.Event.HumanInTheLoop = &schema.HumanInTheLoop{RequiredApprovals: a.approvals, Recipients: parseRecipients(a.to)}
	}
	r.Question = a.positional[0]
	return r, nil
}

// parseRecipients are who may answer, as --to says it.
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

func runAsk(ctx context.Context, args []string, env func(string) string, std streams) int {
	a := newAskFlags(env)
	if status, done := a.parse(args, std); done {
		return status
	}
	r, err := a.buildRequest()
	if err != nil {
		return std.printError("%v", err)
	}
	client := agentclient.New(a.options())
	defer client.Close() // before the program ends: the answer's acknowledgement must get out
	line := newWaitLine(std.err)
	r.OnWaiting = line.show
	d, err := client.Ask(ctx, r)
	line.clear()
	return a.printDecision(d, err, std)
}

// printDecision prints the decision and picks the exit status.
func (a *askFlags) printDecision(d agentclient.Decision, err error, std streams) int {
	if a.json {
		output := struct {
			Approved bool `json:"approved"`
			Answered bool `json:"answered"`
			agentclient.Decision
		}{d.Approved(), d.Answered(), d}
		text, jsonErr := json.Marshal(output)
		if jsonErr != nil {
			return std.printError("the decision can't be written as JSON: %v", jsonErr)
		}
		fmt.Fprintf(std.out, "%s\n", text)
	}
	switch {
	case errors.Is(err, agentclient.ErrTimedOut):
		std.printError("%s; the run should stop here", a.noAnswerText(d))
		return exitFailRun
	case err != nil:
		return std.printError("%s", a.errorText(d, err))
	}
	switch {
	case d.Answered() && d.Outcome == schema.Deny && d.Kind == schema.Permission:
		a.printAnswer(std, "denied")
		if d.Reason != "" {
			fmt.Fprintln(std.err, "hookback: "+denialText(d))
		}
		return exitDenied
	case d.Approved():
		a.printAnswer(std, "approved")
		if d.Source == agentclient.NoHub {
			fmt.Fprintln(std.err, "hookback: no hub could be reached; approved because of --on-unreachable allow")
		}
		return exitOK
	case d.Answered():
		a.printAnswer(std, d.Text+d.Choice)
		return exitOK
	default:
		return std.printError("%s", a.noAnswerText(d))
	}
}

func (a *askFlags) printAnswer(std streams, answer string) {
	if !a.json {
		fmt.Fprintln(std.out, answer)
	}
}

func denialText(d agentclient.Decision) string {
	who := "a person"
	if d.RespondedBy != nil && d.RespondedBy.Name != "" {
		who = d.RespondedBy.Name
	}
	return who + " denied it: " + d.Reason
}

// noAnswerText says why there is none, and what to do.
func (a *askFlags) noAnswerText(d agentclient.Decision) string {
	switch d.Outcome {
	case agentclient.Unreachable:
		return "no hub can be reached at " + a.hubAddress() + ", so nobody was asked and nothing is approved; " +
			"start one (go run ./server), or name another with --hub"
	case agentclient.Malformed:
		return "an answer came that does not answer the question, so nothing is approved; ask again"
	case schema.Timeout:
		return fmt.Sprintf("nobody answered within %v, so nothing is approved; ask again, or give more time with --timeout", a.timeout)
	case schema.NoQuorum:
		return "people voted and did not agree (" + formatVotes(d.Votes) + "), so nothing is approved"
	case schema.Cancelled, schema.Withdrawn:
		text := "the question ended without an answer (" + strings.Trim(string(d.Outcome), "_") + "), so nothing is approved"
		if d.Reason != "" {
			text += ": " + d.Reason
		}
		return text
	default:
		return "the question ended without an answer (" + string(d.Outcome) + "), so nothing is approved"
	}
}

// formatVotes are who voted for what.
func formatVotes(all []schema.Vote) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = v.User + ": " + v.Choice
	}
	return strings.Join(texts, ", ")
}

// errorText says what an error of Ask means.
func (a *askFlags) errorText(d agentclient.Decision, err error) string {
	switch {
	case errors.Is(err, context.Canceled) && d.Outcome == schema.Withdrawn:
		return "interrupted; the question is withdrawn"
	case errors.Is(err, context.Canceled):
		return "interrupted; the hub could not be told, so the question stays in its inbox until it times out"
	default:
		return errorWithHint(err)
	}
}

// errorWithHint is an error and, where the hub gave one, its advice.
func errorWithHint(err error) string {
	var hint *schema.HintError
	if errors.As(err, &hint) {
		return err.Error() + "; " + hint.Hint
	}
	if errors.Is(err, agentclient.ErrUnreachable) {
		return err.Error() + "; start a hub (go run ./server), or name another with --hub"
	}
	return err.Error()
}

func (a *askFlags) hubAddress() string {
	if a.hub != "" {
		return a.hub
	}
	return agentclient.DefaultHub
}
