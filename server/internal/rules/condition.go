package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
)

// matchResult is the result of testing a condition or a rule. It is indeterminate if an argument
// has another type than expected, a command line is not one simple command, or a path can't be
// resolved.
type matchResult int

const (
	noMatch matchResult = iota
	indeterminate
	match
)

func matchIf(b bool) matchResult {
	if b {
		return match
	}
	return noMatch
}

const (
	maxValue   = 4 << 10  // bytes of a condition's value
	maxMatched = 64 << 10 // bytes of an argument that is searched
	maxDigits  = 400
)

// condition is a compiled schema.Condition.
type condition struct {
	path      []string
	isCommand bool // the argument is a command line
	forAllow  bool // part of a rule that allows
	is        string
	words     []string // of the value, if it is compared with a command
	text      string
	isNum     bool
	num       *big.Rat
	boolean   *bool
}

// compileCondition compiles a condition on a tool's arguments. field names its member in
// the draft, for errors.
func compileCondition(tool string, s schema.Condition, field string) (c condition, err error) {
	c.path, c.is = strings.Split(s.Argument, "."), s.Is
	if slices.Contains(c.path, "") {
		return c, &schema.FieldError{Field: field + ".argument", Detail: "must be an argument name, or a path of names joined by dots"}
	}
	invalid := func(detail string) (condition, error) {
		return c, &schema.FieldError{Field: field + ".value", Detail: detail}
	}
	d := json.NewDecoder(bytes.NewReader(s.Value))
	d.UseNumber()
	var value any
	if len(s.Value) > maxValue || d.Decode(&value) != nil {
		return invalid(fmt.Sprintf("must be a string, a number or a boolean of at most %d bytes", maxValue))
	}
	switch v := value.(type) {
	case string:
		c.text = v
	case bool:
		c.boolean = &v
	case json.Number:
		if c.num, c.isNum = parseNumber(v); !c.isNum {
			return invalid(fmt.Sprintf("must be a number of at most %d characters, with an exponent from -%d to %d", maxDigits, maxDigits, maxDigits))
		}
	default:
		return invalid("must be a string, a number or a boolean")
	}
	text := c.boolean == nil && !c.isNum
	switch s.Is {
	case "equals":
		if !text {
			return c, nil
		}
	case "at_most", "at_least":
		if !c.isNum {
			return invalid("must be a number")
		}
		return c, nil
	case "starts_with", "contains", "glob", "under":
		if !text || strings.TrimSpace(c.text) == "" {
			return invalid("must be a string that is not blank")
		}
	default:
		return c, &schema.FieldError{Field: field + ".is", Detail: "must be equals, starts_with, contains, glob, at_most, at_least or under"}
	}
	c.isCommand = risk.IsCommand(tool, c.path[len(c.path)-1])
	if c.isCommand && c.is != "glob" && c.is != "under" {
		var simple bool
		if c.words, simple = risk.ParseSimpleCommand(tool, c.text, ""); !simple {
			return invalid("must be a single simple command, or its first words, without separators, pipes, redirects or variables")
		}
		return c, nil
	}
	return c, c.validateText(field)
}

// validateText checks the value of a condition on text that is not a command.
func (c *condition) validateText(field string) error {
	if c.is == "equals" {
		return nil
	}
	detail := ""
	switch _, patternErr := path.Match(c.text, ""); {
	case c.is == "glob" && patternErr != nil:
		detail = "is not a valid pattern: * matches any characters, ? matches one, [a-z] matches one of a range"
	case c.is == "under" && (!isAbsolute(toSlashes(c.text)) || !risk.IsPlainText(c.text)):
		detail = "must be the absolute path of a folder"
	case hasParentSegment(c.text):
		detail = "must not contain .. as a path segment: write the path it leads to"
	}
	if detail != "" {
		return &schema.FieldError{Field: field + ".value", Detail: detail}
	}
	if c.is == "under" {
		c.text = path.Clean(toSlashes(c.text))
	}
	return nil
}

// evaluate tests the condition against a call's arguments.
func (c *condition) evaluate(call *Call) matchResult {
	call.decodeArguments()
	if call.args == nil {
		return indeterminate
	}
	var value any = call.args
	for _, name := range c.path {
		object, ok := value.(map[string]any)
		if !ok {
			return indeterminate
		}
		if value, ok = object[name]; !ok {
			return noMatch
		}
	}
	switch v := value.(type) {
	case nil:
		return noMatch
	case bool:
		if c.boolean == nil {
			return indeterminate
		}
		return matchIf(v == *c.boolean)
	case json.Number:
		return c.matchNumber(v)
	case string:
		return c.matchString(call, v)
	default:
		return indeterminate
	}
}

func (c *condition) matchNumber(v json.Number) matchResult {
	n, ok := parseNumber(v)
	if !ok || !c.isNum {
		return indeterminate
	}
	switch order := n.Cmp(c.num); c.is {
	case "at_most":
		return matchIf(order <= 0)
	case "at_least":
		return matchIf(order >= 0)
	default:
		return matchIf(order == 0)
	}
}

func (c *condition) matchString(call *Call, text string) matchResult {
	if c.isNum || c.boolean != nil {
		return indeterminate
	}
	if c.isCommand {
		return c.matchCommand(call, text)
	}
	if c.is == "equals" {
		return matchIf(text == c.text)
	}
	if c.is == "under" {
		file, ok := resolvePath(text, call.workingDir)
		if !ok {
			return indeterminate
		}
		return matchIf(isWithin(file, c.text))
	}
	if len(text) > maxMatched || hasParentSegment(text) {
		return indeterminate
	}
	switch c.is {
	case "starts_with":
		return matchIf(strings.HasPrefix(text, c.text))
	case "contains":
		return matchIf(strings.Contains(text, c.text))
	default:
		return matchIf(matchGlob(c.text, text))
	}
}

// matchCommand compares a command line word by word, so that "npm testevil" does not start with
// "npm test". Operands in a list of their own belong to it.
func (c *condition) matchCommand(call *Call, line string) matchResult {
	words, simple := call.commandWords(line)
	if !simple || c.is == "under" {
		return indeterminate
	}
	operands, known := call.operands(call.args)
	switch whole := slices.Concat(words, operands); {
	case !known:
		return indeterminate
	case c.forAllow:
		return matchIf(c.matchWords(whole) && (c.is != "glob" || !hasParentSegment(strings.Join(whole, " "))))
	case c.is == "glob" && hasParentSegment(line):
		return indeterminate
	case c.is == "glob":
		return matchIf(matchGlob(c.text, line) || matchGlob(c.text, strings.Join(whole, " ")))
	default:
		return matchIf(c.matchWords(words) || c.matchWords(whole))
	}
}

func (c *condition) matchWords(words []string) bool {
	switch c.is {
	case "equals":
		return slices.Equal(words, c.words)
	case "starts_with":
		return len(words) >= len(c.words) && slices.Equal(words[:len(c.words)], c.words)
	case "glob":
		return policy.MatchWords(policy.SplitPattern(c.text), words, matchGlob)
	default:
		for i := range words {
			if len(words)-i >= len(c.words) && slices.Equal(words[i:i+len(c.words)], c.words) {
				return true
			}
		}
		return false
	}
}

// matchGlob compares a whole text with a pattern in which * matches any characters, including /.
func matchGlob(pattern, text string) bool {
	swap := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(swap.Replace(pattern), swap.Replace(text))
	return err == nil && ok
}

// hasParentSegment reports whether a text contains a path with a ".." segment.
func hasParentSegment(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}

// parseNumber returns the exact value of a number. It rejects extreme exponents, because
// 1e999999999 has more digits than fit in memory.
func parseNumber(n json.Number) (*big.Rat, bool) {
	if len(n) > maxDigits {
		return nil, false
	}
	if _, exponent, found := strings.Cut(strings.ToLower(string(n)), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxDigits || e < -maxDigits {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}
