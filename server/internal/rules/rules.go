// Package rules answers permissions in the place of a person who said so once. A rule
// is made at a stored question and covers what is like it; what it covers it says in
// plain words. The package is pure: it reads no clock, no database, no file system, so
// that a path is taken for what it says, and symbolic links are not followed.
//
// No rule ever answers what is of high risk, what wants more than a yes or no, or what
// several people are to decide. What can't be told for sure is left to a person: an
// allow does not hold then, and a deny that may hold keeps every allow from doing so.
package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk"
)

// Call is what is known of a question about a tool call.
type Call struct {
	ID        schema.EventID
	Kind      schema.Kind
	Tool      string
	Arguments json.RawMessage
	Hash      []byte // tells tool and arguments apart from others; nil: it is about no call
	Cwd       string // as the agent gave it; empty: not known

	App, Session string

	Own, Risk schema.Risk // the agent's estimate, and the hub's
	Several   bool        // named people, or more than one, are to decide
	Redacted  bool        // something was taken out of its arguments

	decoded     bool
	args        map[string]any // the arguments; nil: they are no object, or can't be told
	workingDir  string
	lastCommand parsedCommand // that was taken apart
}

// parsedCommand is a command line in its words.
type parsedCommand struct {
	line   string
	words  []string
	simple bool
}

// decodeArguments reads the arguments, once. A name given twice makes them unreadable: which of
// the two counts is anybody's guess.
func (c *Call) decodeArguments() {
	if c.decoded {
		return
	}
	c.decoded = true
	c.workingDir = risk.WorkingDir(c.Tool, c.Arguments, c.Cwd)
	if !jsontext.Value(c.Arguments).IsValid() {
		return
	}
	d := json.NewDecoder(bytes.NewReader(c.Arguments))
	d.UseNumber()
	if d.Decode(&c.args) != nil {
		c.args = nil
	}
}

// commandWords are the words of a command line, where it is a simple command.
func (c *Call) commandWords(line string) ([]string, bool) {
	if c.lastCommand.words == nil || c.lastCommand.line != line {
		words, simple := risk.ParseSimpleCommand(c.Tool, line, c.Cwd)
		c.lastCommand = parsedCommand{line, append([]string{}, words...), simple}
	}
	return c.lastCommand.words, c.lastCommand.simple
}

// anyDirPrefix marks the hash of a call that does not look at the directory.
const anyDirPrefix = "any:"

// callKey tells a call in its directory apart from others.
func (c *Call) callKey() string {
	h := sha256.New()
	h.Write(c.Hash)
	h.Write([]byte(c.Cwd))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// argumentsKey tells a call apart from others, whatever its directory.
func (c *Call) argumentsKey() string { return anyDirPrefix + hex.EncodeToString(c.Hash) }

// IneligibleReason says why no rule may ever answer the question; empty: one may.
func IneligibleReason(c *Call) string {
	switch {
	case c.Kind != schema.Permission:
		return "A rule can only say yes or no: this question wants words or a choice of a person."
	case c.Several:
		return "This is for certain people, or for several of them, to decide: no rule answers in their place."
	case isHighRisk(c.Own) || isHighRisk(c.Risk):
		return "It is of high risk: a person looks at each of these."
	case c.Hash == nil || c.Tool == "":
		return "The question names no tool call that a rule could tell apart from others."
	default:
		return ""
	}
}

func isHighRisk(r schema.Risk) bool { return r == schema.HighRisk || r == schema.CriticalRisk }

// isWithin reports whether a cleaned path is a folder or in it.
func isWithin(file, folder string) bool {
	return file == folder || folder == "/" && strings.HasPrefix(file, "/") || strings.HasPrefix(file, folder+"/")
}

// resolvePath makes a path whole and takes the detours out of it. It follows no symbolic
// links; false: it can't be told where it leads.
func resolvePath(file, cwd string) (string, bool) {
	file = toSlashes(file)
	if file == "" || strings.HasPrefix(file, "~") || !risk.IsPlainText(file) {
		return "", false
	}
	if !isAbsolute(file) {
		if cwd == "" {
			return "", false
		}
		file = cwd + "/" + file
	}
	return path.Clean(file), true
}

// toSlashes spells a path of Windows with slashes.
func toSlashes(file string) string {
	if len(file) > 1 && file[1] == ':' || strings.HasPrefix(file, `\\`) || strings.HasPrefix(file, `..\`) {
		return strings.ReplaceAll(file, `\`, "/")
	}
	return file
}

func isAbsolute(file string) bool {
	return strings.HasPrefix(file, "/") || len(file) > 2 && file[1] == ':' && file[2] == '/'
}
