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

// Run runs hookback policy.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	sub := ""
	if len(args) > 0 {
		sub = args[0]
	}
	switch sub {
	case "init":
		return policyInit(args[1:], env, std)
	case "add":
		return policyAdd(args[1:], env, std)
	case "check":
		return policyCheck(args[1:], env, std)
	case "test":
		return policyTest(ctx, args[1:], env, std)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(std.Out, policyHelp)
		return cli.ExitOK
	default:
		return std.PrintError("policy takes init, add, check or test, not %q; see hookback policy --help", sub)
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
	file, mode, err := policyFile(env, *project)
	if err != nil {
		return std.PrintError("%v", err)
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
