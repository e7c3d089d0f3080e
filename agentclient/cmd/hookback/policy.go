package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient"
)

// starterPolicy is the policy that a user begins with.
//
//go:embed policystarter.json
var starterPolicy []byte

const policyHelp = `hookback policy init [--project]
hookback policy check [FILE]
hookback policy test [FILE] [flags]

A policy, hookback.json, says which tool calls of coding agents need a person:

  {"rules": [
    {"tool": "Bash", "when": {"command": {"regex": "\\brm\\s+-r"}}, "then": "ask", "risk": "high"},
    {"tool": "refund", "when": {"amount": {"greater": 10000}}, "then": "deny", "reason": "Too much."}
  ]}

tool    a tool's name, or a glob (* and ?); the common names Bash, Read, Write, Edit,
        WebFetch, WebSearch, Task and mcp__server__tool mean every agent's tool
when    arguments by dotted path, each with tests that must all hold: equals, contains,
        glob, regex (RE2), greater, less. command is any agent's command line, file any
        agent's file. Leave it out to mean every call.
then    allow (nobody is asked), ask (a person), deny (with the reason)
risk    low, medium, high or critical, for the card;  reason  for the person and the agent

The first rule that matches decides; where none does, the agent's own permission flow
goes on. The user's file (~/.config/hookback/hookback.json) comes first, then the
project's, from the repository's root on. Only the user's file can allow: an allow in
a project's leaves the call to the agent. An allow never holds for a command with
; & | < > $ or the like in it.

init    writes a file to begin with, for this user or for the project you are in
check   says what is wrong with a policy, or says it in words; without FILE, with all
        that apply here
test    tries a policy on the calls that a hub remembers
`

const policyTestHelp = `hookback policy test [FILE] [flags]

Tries a policy on the tool calls that a hub remembers, and counts what it would have
said: FILE, or the policies that apply here. Nothing is changed, nobody is asked.
`

func runPolicy(ctx context.Context, args []string, env func(string) string, std streams) int {
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
		fmt.Fprint(std.out, policyHelp)
		return exitOK
	default:
		return std.printError("policy takes init, check or test, not %q; see hookback policy --help", sub)
	}
}

// policyInit writes the starter, but never over a file.
func policyInit(args []string, env func(string) string, std streams) int {
	f := newBareFlags("policy init", policyHelp)
	project := f.Bool("project", false, "write it for the project you are in, not for yourself")
	if status, done := f.parse(args, std); done {
		return status
	}
	if len(f.positional) > 0 {
		return std.printError("policy init takes no %q; it knows where the file belongs", f.positional[0])
	}
	file, mode := agentclient.UserPolicyFile(env), fs.FileMode(0o600)
	if *project {
		dir, err := os.Getwd()
		if err != nil {
			return std.printError("%v", err)
		}
		file, mode = filepath.Join(agentclient.ProjectDir(dir), agentclient.PolicyName), 0o644
	}
	if file == "" {
		return std.printError("there is no place for your own policy: neither XDG_CONFIG_HOME nor HOME is set")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return std.printError("%v", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return std.printError("%s is there already; it stays as it is. hookback policy check says what it does", file)
	}
	if err == nil {
		_, err = out.Write(starterPolicy)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return std.printError("%v", err)
	}
	fmt.Fprintf(std.out, "%s\nRead it, change it, then: hookback policy check; hookback policy test\n", file)
	return exitOK
}

// policyCheck says what is wrong, else what the rules do.
func policyCheck(args []string, env func(string) string, std streams) int {
	f := newBareFlags("policy check", policyHelp)
	if status, done := f.parse(args, std); done {
		return status
	}
	files, err := selectPolicyFiles(f.positional, env)
	if err != nil {
		return std.printError("%v", err)
	}
	read, invalid := 0, 0
	for _, file := range files {
		p, err := agentclient.ReadPolicy(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(f.positional) == 0:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return std.printError("there is no %s", file)
		case err != nil:
			fmt.Fprintln(std.err, err)
			invalid++
		case len(f.positional) == 0 && file != agentclient.UserPolicyFile(env):
			printRules(std, file, p.ForProject())
		default:
			printRules(std, file, p)
		}
		read++
	}
	switch {
	case invalid > 0:
		return exitDenied
	case read == 0:
		fmt.Fprintln(std.out, "No policy applies here, so agents ask as they always do. hookback policy init writes one.")
	}
	return exitOK
}

// printRules says in words what a policy does, and what is odd about it.
func printRules(std streams, file string, p *agentclient.PolicyFile) {
	fmt.Fprintf(std.out, "%s\n", file)
	for i, r := range p.Rules() {
		fmt.Fprintf(std.out, "%4d. %s\n", i+1, printable(r.Sentence, 2000))
	}
	if len(p.Rules()) == 0 {
		fmt.Fprintln(std.out, "      no rules, so no opinion")
	}
	for _, w := range p.Warnings() {
		fmt.Fprintf(std.err, "warning: %s\n", printable(w.String(), 2000))
	}
}

// selectPolicyFiles are the file on the command line, else those that apply here.
func selectPolicyFiles(words []string, env func(string) string) ([]string, error) {
	switch len(words) {
	case 0:
		dir, err := os.Getwd()
		return agentclient.PolicyFiles(dir, env), err
	case 1:
		return words, nil
	default:
		return nil, fmt.Errorf("one file at a time, not %d", len(words))
	}
}
