package policycmd

import (
	"fmt"
	"os"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
)

// selectPolicyFiles returns the file on the command line, or the files that apply in the
// working directory and their source.
func selectPolicyFiles(words []string, env func(string) string) (policy.Source, []string, error) {
	source := cli.UserPolicySource(env, "")
	switch len(words) {
	case 0:
		var err error
		source.Dir, err = os.Getwd()
		return source, source.Files(), err
	case 1:
		return source, words, nil
	default:
		return source, nil, fmt.Errorf("policy takes one FILE, not %d", len(words))
	}
}

const policyHelp = `hookback policy init [--project]
hookback policy add [--project] RULE
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
        glob, regex (RE2), greater, less, runs. command is the command line and file each
        file of a call of any agent, patches and redirects included. A list of words
        counts as one line. Without when, the rule matches every call.
then    allow (no one is asked), ask (a person decides, and the agent waits), later (a
        person decides, and the agent continues without the call), deny (with the reason)
ask     {"owners": true} in a rule that asks: the owners of the files decide, as CODEOWNERS
        has them. "quorum": 2 means two people, of the owners if both are set.
risk    low, medium, high or critical, shown to the person
reason  shown to the person and the agent

The first rule that matches decides. If no rule matches, the agent's own permission flow
applies. The user's file (~/.config/hookback/hookback.json) comes first, then the files
of the project, from the root of the repository down. Only the user's file can allow: an
allow rule in a project leaves the call to the agent, and so does one in a file that only
HOME or XDG_CONFIG_HOME leads to. What /etc/hookback/hookback.json asks about or denies, no other
file takes away.

runs finds a program in a command line, also after sudo, in sh -c "…" and in other text
that its program runs, and option one of its options: -rf, -fr, -f -r, --recursive and
--rec for ["r", "recursive"]. Text that no program runs, such as a commit message, does not
count. In an allow rule, runs is the start of the command, and option is not possible.

later denies the call for now. A yes within 24 hours lets exactly this call of this session
run once, within an hour, and the agent gets a message. It needs an agent that takes messages:
Claude Code, Codex and Gemini CLI. Others, and an agent's own prompt, ask and wait.

A rule about a command or a file asks if a part of the call can't be read: $X as a program,
an open quote, curl … | sh, text typed into an open shell, a call that names no tool. A
rule that allows never covers such a call.

An allow rule compares words: "git log*" covers git log and git log main, not git logx. It
covers options that its pattern contains ("npm test --bail *") and calls that are known to
change nothing, such as git log --oneline. It never covers a command with ; & | < > $ or
similar characters, or an option that runs a program, such as git -c. make, npm run, sh,
env and other programs that run code require equals with the whole command.

init    writes a starter file for this user, or for the current project
add     appends a rule, one JSON object, to the file of this user or of the current
        project, and changes no other byte of it
check   lists the problems of a policy, or prints its rules as text; without FILE, it
        checks all policies that apply here
test    asks the hub what a policy would have decided in the last 30 days
`
