package policy_test

import (
	"fmt"

	"github.com/hookback/hookback/agentclient/policy"
)

func ExampleParse() {
	p, err := policy.Parse("hookback.json", []byte(`{"rules": [
		{"tool": "Bash", "when": {"command": {"glob": "git status*"}}, "then": "allow"},
		{"tool": "Bash", "when": {"command": {"contains": "rm -rf"}}, "then": "ask", "risk": "high"}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"git status", "git status; rm -rf x", "ls"} {
		ruling := p.Evaluate(policy.Call{Name: "Bash", Command: command})
		fmt.Printf("%s: %q\n", command, ruling.Effect)
	}
	_, err = policy.Parse("hookback.json", []byte(`{"rules": [{"tool": "Bash", "then": "alow"}]}`))
	fmt.Println(err)
	// Output:
	// git status: "allow"
	// git status; rm -rf x: "ask"
	// ls: ""
	// hookback.json:1:37: then can't be "alow"; did you mean "allow"?
}
