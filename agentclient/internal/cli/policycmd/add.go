package policycmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/agentclient/project"
)

// policyAdd appends a rule to a policy, or creates the policy.
func policyAdd(args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("policy add", policyHelp)
	ofProject := f.Bool("project", false, "add to the file of the current project, not of this user")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	if len(f.Positional) != 1 {
		return std.PrintError("policy add takes one rule as JSON, not %d arguments", len(f.Positional))
	}
	file, mode, err := policyFile(env, *ofProject)
	if err == nil {
		err = appendRule(file, mode, f.Positional[0])
	}
	if err != nil {
		return std.PrintError("%v", err)
	}
	p, err := policy.Read(file)
	if err != nil {
		return std.PrintError("%v", err)
	}
	rules := p.Rules()
	last := rules[len(rules)-1]
	fmt.Fprintf(std.Out, "%s\n%4d. %s\n", last.Location, len(rules), printable(last.Sentence, 2000))
	if len(rules) > 1 {
		fmt.Fprintln(std.Out, "The first rule that matches decides: the rules before this one come first.")
	}
	for _, w := range p.Warnings() {
		fmt.Fprintf(std.Err, "warning: %s\n", printable(w.String(), 2000))
	}
	return cli.ExitOK
}

// policyFile returns the policy of this user or of the current project, and the mode of a new file.
func policyFile(env func(string) string, ofProject bool) (file string, mode fs.FileMode, err error) {
	if ofProject {
		dir, err := os.Getwd()
		return filepath.Join(project.Top(dir), policy.FileName), 0o644, err
	}
	if file = cli.UserPolicySource(env, "").UserFile; file == "" {
		return "", 0, errors.New("no directory for your policy: this account has no home directory")
	}
	return file, 0o600, nil
}

// appendRule adds a rule as the last one of a file and changes no other byte. It replaces
// the file only if the result is a valid policy, and in one step.
func appendRule(file string, mode fs.FileMode, rule string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(rule), &object); err != nil || object == nil {
		return errors.New(`the rule is not a JSON object, such as {"tool":"Bash","when":{"command":{"runs":"rm"}},"then":"ask"}`)
	}
	if _, err := policy.Parse("the rule", []byte(`{"rules":[`+rule+`]}`)); err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		file = resolved // a link stays a link
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = []byte(policy.NewFile)
	case err != nil:
		return err
	default:
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
		if _, err := policy.Read(file); err != nil {
			return fmt.Errorf("%w\nThe file was not changed; correct it first", err)
		}
	}
	changed, err := policy.Insert(text, rule)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := policy.Parse(file, changed); err != nil {
		return fmt.Errorf("%w\nThe file was not changed", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(file, changed, mode)
}
