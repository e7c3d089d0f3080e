// Package policycmd is hookback policy.
package policycmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
)

// starterPolicy is the policy that policy init writes.
//
//go:embed policystarter.json
var starterPolicy []byte

const policyHelp = `hookback policy init [--project]
hookback policy check [FILE]
hookback policy test [FILE] [flags]

A policy, hookback.json, defines which tool calls of coding agents need approval:

  {"rules": [
    {"tool": "Bash", "when": {"command": {"runs": "rm", "option": ["r", "recursive"]}}, "then": "ask", "risk": "high"},
    {"tool": "refund", "when": {"amount": {"greater": 10000}}, "then": "deny", "reason": "Too much."}
  ]}

tool    a tool name or a glob (* and ?); the common names Bash, Read, Write, Edit,
        WebFetch, WebSearch, Task and mcp__server__tool match the tools of every agent
when    arguments by dotted path, each with tests that must all pass: equals, contains,
        glob, regex (RE2), greater, less, runs. command is the command line and file the
        file of any agent. A list of words counts as one line. Without when, the rule
        matches every call.
then    allow (no one is asked), ask (a person decides), deny (with the reason)
risk    low, medium, high or critical, shown to the person
reason  shown to the person and the agent

The first rule that matches decides. If no rule matches, the agent's own permission flow
applies. The user's file (~/.config/hookback/hookback.json) comes first, then the files
of the project, from the root of the repository down. Only the user's file can allow: an
allow rule in a project leaves the call to the agent, and so does one in a file that only
HOME or XDG_CONFIG_HOME leads to.

runs finds a program in a command line, also after sudo or in a quoted script, and option
one of its options: -rf, -fr, -f -r, --recursive and --rec for ["r", "recursive"]. A line
that can't be read, such as rm $X, is a question. In an allow rule, runs is the start of
the command, and option is not possible.

An allow rule compares words: "git log*" covers git log and git log main, not git logx. It
covers options that its pattern contains ("npm test --bail *") and calls that are known to
change nothing, such as git log --oneline. It never covers a command with ; & | < > $ or
similar characters, or an option that runs a program, such as git -c. make, npm run, sh,
env and other programs that run code require equals with the whole command.

init    writes a starter file for this user, or for the current project
check   lists the problems of a policy, or prints its rules as text; without FILE, it
        checks all policies that apply here
test    replays a policy against the tool calls that a hub has stored
`

// Run runs hookback policy.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	sub := ""
	if len(args) > 0 {
		sub = args[0]
	}
	switch sub {
	case "init":
		return policyInit(args[1:], env, std)
	case "check":
		return policyCheck(args[1:], env, std)
	case "test":
		return policyTest(ctx, args[1:], env, std)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(std.Out, policyHelp)
		return cli.ExitOK
	default:
		return std.PrintError("policy takes init, check or test, not %q; see hookback policy --help", sub)
	}
}

// policyInit writes the starter policy. It never overwrites a file.
func policyInit(args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("policy init", policyHelp)
	project := f.Bool("project", false, "write the file for the current project, not for this user")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	if len(f.Positional) > 0 {
		return std.PrintError("policy init takes no arguments, not %q", f.Positional[0])
	}
	file, mode := cli.UserPolicySource(env, "").UserFile, fs.FileMode(0o600)
	if *project {
		dir, err := os.Getwd()
		if err != nil {
			return std.PrintError("%v", err)
		}
		file, mode = filepath.Join(policy.ProjectDir(dir), policy.FileName), 0o644
	}
	if file == "" {
		return std.PrintError("no directory for your policy: this account has no home directory")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return std.PrintError("%v", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return std.PrintError("%s already exists and was not changed; hookback policy check prints its rules", file)
	}
	if err == nil {
		_, err = out.Write(starterPolicy)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return std.PrintError("%v", err)
	}
	fmt.Fprintf(std.Out, "%s\nEdit the file, then run: hookback policy check; hookback policy test\n", file)
	return cli.ExitOK
}

// policyCheck prints the problems of the policies, or else their rules.
func policyCheck(args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("policy check", policyHelp)
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	source, files, err := selectPolicyFiles(f.Positional, env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	read, invalid := 0, 0
	for _, file := range files {
		p, err := policy.Read(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(f.Positional) == 0:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return std.PrintError("%s does not exist", file)
		case err != nil:
			fmt.Fprintln(std.Err, err)
			invalid++
		case len(f.Positional) == 0 && !source.MayAllow(file):
			printRules(std, file, p.ForProject())
		default:
			printRules(std, file, p)
		}
		read++
	}
	switch {
	case invalid > 0:
		return cli.ExitProblem
	case read == 0:
		fmt.Fprintln(std.Out, "No policy applies here, so agents ask as usual. hookback policy init writes a policy.")
	}
	return cli.ExitOK
}

// printRules prints the rules of a policy as sentences, and its warnings to stderr.
func printRules(std cli.Streams, file string, p *policy.File) {
	fmt.Fprintf(std.Out, "%s\n", file)
	for i, r := range p.Rules() {
		fmt.Fprintf(std.Out, "%4d. %s\n", i+1, printable(r.Sentence, 2000))
	}
	if len(p.Rules()) == 0 {
		fmt.Fprintln(std.Out, "      no rules, so no opinion")
	}
	for _, w := range p.Warnings() {
		fmt.Fprintf(std.Err, "warning: %s\n", printable(w.String(), 2000))
	}
}
