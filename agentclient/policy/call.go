package policy

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

// callArguments gives rules access to the arguments of one call. The arguments are parsed
// when a rule first needs them.
type callArguments struct {
	Call
	read   *call.Call
	parsed bool
	root   *value // nil: not a JSON object
	lines  []commandLine
}

var emptyObject, _ = call.ParseValue([]byte("{}"), maxDepth)

// reading returns the call as it is read for rules that ask or deny.
func (c *callArguments) reading() *call.Call {
	if c.read == nil {
		c.read = call.Read(call.Input{Agent: c.Agent, Tool: c.Name, Alias: c.Alias, Dir: c.Dir, Command: c.Command, Arguments: c.Arguments})
	}
	return c.read
}

func (c *callArguments) consequence() *schema.Consequence {
	if c.Consequence == nil {
		return nil
	}
	return c.Consequence()
}

// isUnnamed reports whether the agent sent no readable name of the tool.
func (c *callArguments) isUnnamed() bool { return c.Name == "" || c.Name == call.UnknownTool }

func (c *callArguments) object() *value {
	if c.parsed {
		return c.root
	}
	c.parsed = true
	if text := bytes.TrimSpace(c.Arguments); len(text) == 0 || string(text) == "null" {
		c.root = emptyObject
	} else if node, err := call.ParseValue(text, maxDepth); err == nil && node.Kind() == call.ObjectKind {
		c.root = node
	}
	return c.root
}

// lookup returns the values at a path, or the reason why they are ambiguous. A command
// given as a list of words is also joined to one line; forAllow replaces the words by it.
func (c *callArguments) lookup(path []string, forAllow bool) (values []*value, problem string) {
	args := c.object()
	if args == nil {
		return nil, "its arguments are not a JSON object"
	}
	if len(path) == 1 && path[0] == "file" {
		values, problem = lookupFiles(args)
		if !forAllow {
			return append(values, c.files()...), problem
		}
		return c.onlyFiles(values), problem
	}
	lists := eachItem
	if matcher.IsShellArgument(path[len(path)-1]) && call.NameKind(path[len(path)-1]) != "lines" {
		lists = itemsAndLine
		if forAllow {
			lists = onlyLine
		}
	}
	values, problem = followPath(args, path, lists)
	if problem != "" || len(path) > 1 || !matcher.IsCommandName(path[0]) {
		return values, problem
	}
	if path[0] == "command" && c.Command != "" {
		// The adapter extracted the command from the agent's own argument.
		values = []*value{call.NewText(c.Command)}
	}
	if path[0] == "command" && len(values) == 0 && !forAllow { // under another name
		for _, line := range c.reading().Lines {
			values = append(values, call.NewText(line.Text))
		}
		return values, ""
	}
	if len(values) != 1 || values[0].Kind() != call.TextKind {
		return values, ""
	}
	for _, line := range c.commandLines() { // with operands in another argument
		if rest, ok := strings.CutPrefix(line.text, values[0].Literal()+" "); ok && rest != "" {
			if forAllow {
				return []*value{call.NewText(line.text)}, ""
			}
			values = append(values, call.NewText(line.text))
		}
	}
	return values, ""
}

// files returns the paths of every file that the call touches or may touch, absolute and from its directory.
func (c *callArguments) files() (values []*value) {
	read := c.reading()
	for _, f := range slices.Concat(read.Files, read.MayBe, scriptFiles(read)) {
		if dir, name := path.Split(f.Path); name == call.Expansion && (dir == "" || path.Clean(dir) == read.Dir) {
			continue // only a variable is compared with nothing: cat "$f" in a loop would ask all day
		}
		for _, p := range slices.Concat(namesOf(strings.ReplaceAll(f.Path, call.Expansion, "x")), spellings(f.Path, read.Dir)) {
			values = append(values, call.NewText(p))
			if relative, ok := strings.CutPrefix(p, strings.TrimSuffix(read.Dir, "/")+"/"); ok && read.Dir != "" {
				values = append(values, call.NewText(relative))
			}
		}
	}
	return values
}

// processDir matches the names of the root and the working directory that /proc has.
var processDir = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/proc/[^/]*/(root|cwd)\b`) })

// quotedFile matches the name of a file in code, such as "x.env".
var quotedFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[\"'`]([\\w+@%][\\w+@%.-]*\\.[A-Za-z]\\w{0,11})[\"'`]")
})

// spellings returns a path as rules may name it: with an empty or another value of its variables, from the home
// directory, without what Windows ignores at its end, and with a slash, because a directory has files.
func spellings(p, dir string) []string {
	plain := strings.ReplaceAll(p, call.Expansion, "")
	if at := processDir().FindStringSubmatchIndex(plain); at != nil {
		plain = map[string]string{"root": "", "cwd": dir}[plain[at[2]:at[3]]] + plain[at[3]:]
	}
	name, _, _ := strings.Cut(plain, "::$")
	all := slices.Compact([]string{strings.ReplaceAll(p, call.Expansion, "x"), plain, strings.TrimRight(name, ". "), plain + "/"})
	home := paths.NewWorkingDir(plain).Home
	if rest, ok := strings.CutPrefix(plain, home+"/"); ok && home != "" {
		return append(all, "~/"+rest)
	}
	if home = paths.NewWorkingDir(dir).Home; home != "" && strings.HasPrefix(plain, "~/") {
		return append(all, home+plain[1:])
	}
	return all
}

// scriptFiles returns the paths in code that is not read, such as that of python -c.
func scriptFiles(read *call.Call) (files []call.File) {
	isOther := func(r rune) bool { return strings.ContainsRune(" \t\n\"'`()[]{}<>,;=|&", r) }
	for _, s := range read.Scripts {
		for _, m := range quotedFile().FindAllStringSubmatch(s.Text, 4096) {
			files = append(files, call.File{Path: path.Join(read.Dir, m[1])})
		}
		for text := range strings.FieldsFuncSeq(s.Text, isOther) {
			isHidden := len(text) > 2 && text[0] == '.' && text[1] >= 'a' && text[1] <= 'z'
			if (isHidden || strings.Contains(text, "/")) && len(files) < 4096 {
				files = append(files, call.File{Path: text}, call.File{Path: path.Join(read.Dir, text)})
			}
		}
	}
	return files
}

// namesOf returns names that a path with a pattern or with alternatives in braces stands for: without
// its stars, and each name of a secret that it matches.
func namesOf(p string) (names []string) {
	if !strings.ContainsAny(p, "*?[{") || len(p) > 4096 {
		return nil
	}
	if before, rest, ok := strings.Cut(p, "{"); ok {
		if list, after, ok := strings.Cut(rest, "}"); ok && strings.Count(p, "{") < 3 {
			for alternative := range strings.SplitSeq(list, ",") {
				names = append(append(names, before+alternative+after), namesOf(before+alternative+after)...)
			}
			return names
		}
	}
	dir, base := path.Split(p)
	if strings.Trim(base, "*?[].") == "" && !strings.HasPrefix(base, ".") {
		return nil // all files
	}
	if plain := strings.ReplaceAll(base, "*", ""); plain != "" && plain != "." {
		names = append(names, dir+plain)
	}
	for _, secret := range programs.SecretNames(base) {
		names = append(names, dir+secret)
	}
	return names
}

// onlyFiles returns the values if they are all files of the call: a rule that allows must see each.
func (c *callArguments) onlyFiles(values []*value) []*value {
	for _, f := range c.reading().Files {
		if !slices.ContainsFunc(values, func(v *value) bool {
			text, ok := v.Text()
			return ok && (f.Path == text || strings.HasSuffix(f.Path, "/"+strings.TrimPrefix(text, "./")))
		}) {
			return nil
		}
	}
	return values
}

func lookupFiles(args *value) (values []*value, problem string) {
	seen := map[string]bool{}
	for _, m := range args.Members() {
		if !slices.ContainsFunc(fileArguments, func(name string) bool { return strings.EqualFold(name, m.Name) }) {
			continue
		}
		found, problem := followPath(m.Value, nil, eachItem)
		if seen[m.Name] {
			problem = fmt.Sprintf("the argument %q is duplicated", m.Name)
		}
		if problem != "" {
			return nil, problem
		}
		seen[m.Name] = true
		values = append(values, found...)
	}
	return values, ""
}

// listMode is the treatment of a list at the end of a path.
type listMode int

const (
	eachItem     listMode = iota // every item is a value
	itemsAndLine                 // also the items joined as words
	onlyLine                     // only the items joined as words, if all are words
)

// followPath returns the values at a path. If a path component is not an index, it
// applies to every item of an array.
func followPath(n *value, path []string, lists listMode) (values []*value, problem string) {
	if n.Kind() == call.ArrayKind {
		if len(path) == 0 && lists != eachItem && len(n.Members()) > 0 {
			if words, ok := n.Words(); ok {
				values = append(values, call.NewText(joinWords(words, onWindows)))
				if lists == onlyLine {
					return values, ""
				}
			}
		}
		for i, item := range n.Members() {
			rest := path
			if len(path) > 0 {
				if at, err := strconv.Atoi(path[0]); err == nil {
					if at != i {
						continue
					}
					rest = path[1:]
				}
			}
			found, problem := followPath(item.Value, rest, lists)
			if problem != "" {
				return nil, problem
			}
			values = append(values, found...)
		}
		return values, ""
	}
	if len(path) == 0 {
		return []*value{n}, ""
	}
	if n.Kind() != call.ObjectKind && n.Kind() != call.NullKind {
		return nil, fmt.Sprintf("the arguments have %s in place of the argument %s", n.Kind(), strings.Join(path, "."))
	}
	var next *value
	for _, m := range n.Members() {
		switch {
		case !strings.EqualFold(m.Name, path[0]):
		case m.Name != path[0]:
			return nil, fmt.Sprintf("some programs read the argument %q as %q", m.Name, path[0])
		case next != nil:
			return nil, fmt.Sprintf("the argument %q is duplicated", m.Name)
		default:
			next = m.Value
		}
	}
	if next == nil {
		return nil, ""
	}
	return followPath(next, path[1:], lists)
}
