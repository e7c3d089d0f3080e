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

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
)

// verdict is what is known of a condition, or of a rule. Unclear is an argument of
// another type than expected, a command that is more than one, a path that leads
// nobody knows where.
type verdict int

const (
	fails verdict = iota
	unclear
	holds
)

func sure(b bool) verdict {
	if b {
		return holds
	}
	return fails
}

const (
	maxValue   = 4 << 10  // bytes of a condition's value
	maxMatched = 64 << 10 // bytes of an argument that is looked through
	maxDigits  = 400
)

// condition is a schema.Condition that can be tested.
type condition struct {
	path  []string
	cmd   bool // the argument is a command line
	is    string
	words []string // of the value, where it is compared with a command
	text  string
	isNum bool
	num   *big.Rat
	truth *bool
}

// compile checks a condition of a tool's arguments. at is the member that it stands in.
func compile(tool string, s schema.Condition, at string) (c condition, err error) {
	c.path, c.is = strings.Split(s.Argument, "."), s.Is
	if slices.Contains(c.path, "") {
		return c, &schema.FieldError{Field: at + ".argument", Detail: "must be an argument's name, or names with dots between them"}
	}
	wrong := func(detail string) (condition, error) {
		return c, &schema.FieldError{Field: at + ".value", Detail: detail}
	}
	d := json.NewDecoder(bytes.NewReader(s.Value))
	d.UseNumber()
	var value any
	if len(s.Value) > maxValue || d.Decode(&value) != nil {
		return wrong(fmt.Sprintf("must be a text, a number, true or false of at most %d bytes", maxValue))
	}
	switch v := value.(type) {
	case string:
		c.text = v
	case bool:
		c.truth = &v
	case json.Number:
		if c.num, c.isNum = number(v); !c.isNum {
			return wrong("must be a number that anyone could mean")
		}
	default:
		return wrong("must be a text, a number, true or false")
	}
	text := c.truth == nil && !c.isNum
	switch s.Is {
	case "equals":
		if !text {
			return c, nil
		}
	case "at_most", "at_least":
		if !c.isNum {
			return wrong("must be a number")
		}
		return c, nil
	case "starts_with", "contains", "glob", "under":
		if !text || strings.TrimSpace(c.text) == "" {
			return wrong("must be a text that is not empty")
		}
	default:
		return c, &schema.FieldError{Field: at + ".is", Detail: "must be equals, starts_with, contains, glob, at_most, at_least or under"}
	}
	c.cmd = risk.IsCommand(tool, c.path[len(c.path)-1])
	if c.cmd && c.is != "glob" && c.is != "under" {
		var simple bool
		if c.words, simple = risk.ParseSimpleCommand(tool, c.text, ""); !simple {
			return wrong("must be a single simple command, or its first words: a rule knows no separators, pipes, redirects, variables and the like")
		}
		return c, nil
	}
	return c, c.checkText(at)
}

// checkText checks the value of a test of texts that are no commands.
func (c *condition) checkText(at string) error {
	if c.is == "equals" {
		return nil
	}
	detail := ""
	switch _, bad := path.Match(c.text, ""); {
	case c.is == "glob" && bad != nil:
		detail = "is no pattern: * stands for any characters, ? for one, [a-z] for one of them"
	case c.is == "under" && (!absolute(slashes(c.text)) || !risk.IsPlainText(c.text)):
		detail = "must be the whole path of a folder"
	case detours(c.text):
		detail = "must not lead elsewhere by ..: write the path it leads to"
	}
	if detail != "" {
		return &schema.FieldError{Field: at + ".value", Detail: detail}
	}
	if c.is == "under" {
		c.text = path.Clean(slashes(c.text))
	}
	return nil
}

// check tests the argument of a call.
func (c *condition) check(call *Call) verdict {
	call.decode()
	if call.members == nil {
		return unclear
	}
	var value any = call.members
	for _, name := range c.path {
		object, ok := value.(map[string]any)
		if !ok {
			return unclear
		}
		if value, ok = object[name]; !ok {
			return fails
		}
	}
	switch v := value.(type) {
	case nil:
		return fails
	case bool:
		if c.truth == nil {
			return unclear
		}
		return sure(v == *c.truth)
	case json.Number:
		return c.checkNumber(v)
	case string:
		return c.checkString(call, v)
	default:
		return unclear
	}
}

func (c *condition) checkNumber(v json.Number) verdict {
	n, ok := number(v)
	if !ok || !c.isNum {
		return unclear
	}
	switch order := n.Cmp(c.num); c.is {
	case "at_most":
		return sure(order <= 0)
	case "at_least":
		return sure(order >= 0)
	default:
		return sure(order == 0)
	}
}

func (c *condition) checkString(call *Call, text string) verdict {
	if c.isNum || c.truth != nil {
		return unclear
	}
	if c.cmd {
		return c.checkCommand(call, text)
	}
	if c.is == "equals" {
		return sure(text == c.text)
	}
	if c.is == "under" {
		file, ok := resolve(text, call.folder)
		if !ok {
			return unclear
		}
		return sure(below(file, c.text))
	}
	if len(text) > maxMatched || detours(text) {
		return unclear
	}
	switch c.is {
	case "starts_with":
		return sure(strings.HasPrefix(text, c.text))
	case "contains":
		return sure(strings.Contains(text, c.text))
	default:
		return sure(matches(c.text, text))
	}
}

// checkCommand compares a command word by word, so that npm test is no beginning of
// npm testevil.
func (c *condition) checkCommand(call *Call, line string) verdict {
	words, simple := call.words(line)
	switch {
	case !simple || c.is == "under":
		return unclear
	case c.is == "equals":
		return sure(slices.Equal(words, c.words))
	case c.is == "starts_with":
		return sure(len(words) >= len(c.words) && slices.Equal(words[:len(c.words)], c.words))
	case c.is == "contains":
		for i := range words {
			if len(words)-i >= len(c.words) && slices.Equal(words[i:i+len(c.words)], c.words) {
				return holds
			}
		}
		return fails
	case detours(line):
		return unclear
	default:
		return sure(matches(c.text, line))
	}
}

// matches compares a whole text with a pattern whose * stands for any characters, /
// among them.
func matches(pattern, text string) bool {
	swap := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(swap.Replace(pattern), swap.Replace(text))
	return err == nil && ok
}

// detours reports whether a text has .. as a step of a path.
func detours(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}

// number is the exact value, of numbers that anyone could mean: 1e999999999 has more
// digits than there is memory.
func number(n json.Number) (*big.Rat, bool) {
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
