package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/ratings"
)

// file is a parsed policy file.
type file struct {
	policy   *policy.File // its locations are NAME:LINE with a line per rule
	weight   int          // see policy.File.Weight
	rules    []history.PolicyRule
	warnings []history.PolicyProblem
}

// parseFile parses the text of a policy. name must be unique among the files that are evaluated
// together. The error is a *policy.Error.
func parseFile(name, text string, origin history.PolicyOrigin) (*file, error) {
	parsed, err := policy.Parse(name, []byte(text))
	if err != nil {
		return nil, err
	}
	f := &file{warnings: problemsOf(parsed.Warnings())}
	var raw struct {
		Rules []json.RawMessage `json:"rules"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &raw); err != nil {
		return nil, &policy.Error{Problems: []policy.Problem{{File: name, Text: err.Error()}}}
	}
	// One line per rule, so that a location identifies the rule.
	lines := bytes.NewBufferString(`{"rules":[`)
	for i, rule := range raw.Rules {
		var line bytes.Buffer
		if err := json.Compact(&line, rule); err != nil {
			return nil, err
		}
		var then struct {
			Then string `json:"then"`
		}
		_ = json.Unmarshal(rule, &then) // it is valid
		f.rules = append(f.rules, history.PolicyRule{Index: i, Then: then.Then, JSON: ratings.EscapeInvisible(line.String())})
		lines.WriteString([]string{"\n", ",\n"}[min(i, 1)])
		lines.Write(line.Bytes())
	}
	lines.WriteString("\n]}")
	if f.policy, err = policy.Parse(name, lines.Bytes()); err != nil {
		return nil, err
	}
	if origin != history.OriginUser {
		f.policy = f.policy.ForProject()
	}
	f.weight = f.policy.Weight()
	for i, rule := range f.policy.Rules() {
		f.rules[i].Sentence = ratings.EscapeInvisible(rule.Sentence)
	}
	return f, nil
}

// ruleIndex returns the name of the file and the index of the rule at a location; -1 if there is none.
func ruleIndex(location string) (name string, index int) {
	at := strings.LastIndexByte(location, ':')
	line, err := strconv.Atoi(location[at+1:])
	if err != nil {
		return "", -1
	}
	return location[:max(at, 0)], line - 2
}

func problemsOf(list []policy.Problem) []history.PolicyProblem {
	problems := make([]history.PolicyProblem, len(list))
	for i, p := range list {
		problems[i] = history.PolicyProblem{Line: p.Line, Column: p.Column, Text: ratings.EscapeInvisible(p.Text)}
	}
	return problems
}

// invalidPolicy returns the error about a policy that can't be parsed, with the position of its first
// mistake.
func invalidPolicy(err error) error {
	var invalid *policy.Error
	if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
		return err
	}
	p := problemsOf(invalid.Problems[:1])[0]
	detail := p.Text
	if p.Line > 0 {
		detail = fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
	}
	if more := len(invalid.Problems) - 1; more > 0 {
		detail += fmt.Sprintf(" (and %d more)", more)
	}
	return &schema.FieldError{Field: "policy", Detail: detail, Cause: schema.ErrNoPolicy}
}

// originOf returns an origin of a client, or the default.
func originOf(o history.PolicyOrigin) (history.PolicyOrigin, bool) {
	o = cmp.Or(o, history.OriginUser)
	return o, o == history.OriginUser || o == history.OriginProject
}
