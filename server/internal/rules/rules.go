// Package rules answers permission requests in place of a person who decided once. A rule is
// created from a stored question and covers similar ones; its sentence describes them.
// The package is pure: it uses no clock, no database and no file system. Paths are therefore
// compared as text, and symbolic links are not followed.
//
// A rule never answers a call of high risk, a question that needs more than yes or no, or one
// that several people must decide. A rule that allows more than exactly one call covers a command
// if it is harmless, or if each of its options was in the call that the rule was created from. If
// a match is indeterminate, a person decides: an allow does not apply then, and a deny that may
// apply prevents every allow from applying.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

// Call is a question about a tool call, as rules see it.
type Call struct {
	ID        schema.EventID
	Kind      schema.Kind
	Agent     string // whose tools are read; empty: any agent
	Tool      string
	Arguments json.RawMessage
	Hash      []byte // identifies tool and arguments; nil: not about a call
	Cwd       string // as reported by the agent; empty: unknown
	Project   string // Cwd in the main working tree, if it is in a git worktree

	App, Session string

	AgentRisk, HubRisk schema.Risk         // the agent's estimate and the hub's
	Class              schema.Class        // empty: unknown
	IsRestricted       bool                // named people, or more than one, must decide
	Redacted           bool                // a secret was removed from its arguments
	IsSample           bool                // it stands for the calls of a rule from scratch, see Samples
	HasFindings        bool                // the hub has findings about it
	PolicyAsked        bool                // the agent's policy requires a person
	Consequence        *schema.Consequence // as the agent's hook computed it; nil: unknown

	reading     *call.Call  // nil: not read yet
	args        *call.Value // the arguments; nil: not an object, or ambiguous
	workingDir  string
	lines       []commandLine // nil: not known yet
	lastCommand parsedCommand // the last command line that was parsed
}

// parsedCommand is a command line and its words.
type parsedCommand struct {
	line   string
	words  []string
	simple bool
}

// decodeArguments reads the call, once. Duplicate member names make them indeterminate,
// because it is unknown which one the tool uses.
func (c *Call) decodeArguments() {
	if c.reading != nil {
		return
	}
	c.reading = call.Read(call.Input{Agent: c.Agent, Tool: c.Tool, Dir: c.Cwd, Arguments: c.Arguments})
	c.workingDir = cleanDir(c.reading.Dir)
	if args := c.reading.Root(); args.Kind() == call.ObjectKind && jsontext.Value(c.Arguments).IsValid() {
		c.args = args
	}
}

// mainDir returns the place of the call's directory in the main working tree, or "" if it is in no git
// worktree. The arguments can name another directory than the agent's.
func (c *Call) mainDir() string {
	tree, main := cleanDir(c.Cwd), cleanDir(c.Project)
	if tree == "" || main == "" || !paths.IsWithin(c.workingDir, tree) {
		return ""
	}
	return path.Join(main, strings.TrimPrefix(c.workingDir, tree))
}

// cleanDir returns an absolute directory with slashes, or "" for another one.
func cleanDir(dir string) string {
	if dir = paths.Join("", dir); !paths.IsAbsolute(dir) {
		return ""
	}
	return dir
}

// commandWords returns the words of a command line, and whether it is a simple command.
func (c *Call) commandWords(line string) ([]string, bool) {
	if c.lastCommand.words == nil || c.lastCommand.line != line {
		words, simple := call.WordsOf(c.Tool, line, c.Cwd)
		c.lastCommand = parsedCommand{line, append([]string{}, words...), simple}
	}
	return c.lastCommand.words, c.lastCommand.simple
}

// anyDirPrefix marks the key of a call in any directory.
const anyDirPrefix = "any:"

// callKey identifies the call in its directory.
func (c *Call) callKey() string {
	h := sha256.New()
	h.Write(c.Hash)
	h.Write([]byte(c.Cwd))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// argumentsKey identifies the call in any directory.
func (c *Call) argumentsKey() string { return anyDirPrefix + hex.EncodeToString(c.Hash) }

// IneligibleReason returns why no rule may ever answer the question, or "".
func IneligibleReason(c *Call) string {
	switch {
	case c.Kind != schema.Permission:
		return "A rule can only approve or deny: this question needs text or a choice from a person."
	case c.IsRestricted:
		return "Only specific people, or several people, may decide this: no rule answers for them."
	case isHighRisk(c.AgentRisk) || isHighRisk(c.HubRisk):
		return "The call is of high risk: a person must review each one."
	case c.Hash == nil || c.Tool == "":
		return "The question names no tool call that a rule could identify."
	default:
		return ""
	}
}

func isHighRisk(r schema.Risk) bool { return r == schema.HighRisk || r == schema.CriticalRisk }

// resolvePath returns a clean absolute path, or false if it can't be determined. It follows no
// symbolic links.
func resolvePath(file, cwd string) (string, bool) {
	file = paths.ToSlashes(file)
	isUnknown := paths.HasDrive(file) && !strings.HasPrefix(file[2:], "/") // C:x, relative to a directory of its drive
	if file == "" || strings.HasPrefix(file, "~") || !programs.IsPlainText(file) || isUnknown {
		return "", false
	}
	file = paths.Join(cwd, file)
	return file, paths.IsAbsolute(file)
}
