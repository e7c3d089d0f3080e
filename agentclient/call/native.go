package call

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// readNative reads the name of the tool and its arguments: common names, commands, files, hosts.
func (c *Call) readNative() {
	arguments, err := parseArguments(c.Arguments)
	if err != nil {
		c.addUnread(Span{}, "its arguments %v", err)
		arguments = &Value{kind: NullKind}
	}
	c.arguments = arguments
	left := maxCalls
	reader{call: c, left: &left, system: systemShell(c.Dir)}.readTool(c.Tool, arguments, "")
	c.EachSpan(func(s *Span) {
		if pointer, _, isText := strings.Cut(s.Pointer, textMark); isText {
			*s = Span{Pointer: pointer} // a place in JSON in a string
		}
	})
}

// reader reads the arguments of one tool.
type reader struct {
	call   *Call
	left   *int  // calls that may still be read
	system Shell // of tools without a shell of their own
	tool   tool
	op     FileOp   // of paths
	dirs   []string // that patterns of the same object are about
	other  string   // directory in which an MCP tool may work, instead of call.Dir
	isURL  bool     // the same object has an address
	parts  []part   // of a command line that is a list
}

const (
	// maxReadings limits the readings of members that are there more than once.
	maxReadings = 8
	// maxCalls limits the calls in a call: with two names for each, they double at every level.
	maxCalls = 1024
)

// readTool reads a call of a tool with the arguments at a JSON pointer.
func (r reader) readTool(name string, arguments *Value, at string) {
	c := r.call
	if *r.left--; *r.left < 0 {
		if *r.left == -1 {
			c.addUnread(Span{Pointer: at}, "it has too many calls")
		}
		return
	}
	if r.tool = c.addNames(name); at == "" {
		c.isKnown = r.tool.known
	}
	r.op, r.other = cmp.Or(r.tool.op, UseFile), ""
	if whole, inside := arguments.unwrap(at); whole.kind == ObjectKind {
		arguments, at = whole, inside
	}
	switch arguments.kind {
	case NullKind:
	case ObjectKind:
		r.whole(arguments, at)
	case TextKind:
		r.item(arguments, at)
	case ArrayKind:
		for _, m := range arguments.members {
			r.item(m.Value, below(at, m.Name))
		}
	default:
		c.addUnread(Span{Pointer: at}, "its arguments are not an object")
	}
	switch r.tool.args["*"] {
	case "here":
		if !c.hasPlace(arguments) {
			c.addPath(".", r.op, Span{Pointer: at})
		}
	case "hidden":
		r.hidden(at)
	}
}

// addNames adds the common names of a tool and returns its entry of the table.
func (c *Call) addNames(name string) tool {
	if c.Agent == "copilot" {
		name = strings.TrimPrefix(name, "copilot_") // VS Code
	}
	name = strings.TrimPrefix(name, codexPrefix)
	t := toolOf(name)
	if t.args["*"] != "mcp" {
		if names := mcpNames(c.Agent, name); len(names) > 0 {
			c.addName(names...)
			if strings.HasPrefix(name, mcpPrefix) {
				t = toolOf(name[strings.LastIndex(name, "__")+2:])
			}
			if t.args["input"] != "typed" && t.args["*"] != "hidden" {
				t.args = nil
			}
			return tool{args: t.args}
		}
	}
	if t.common == "" {
		return t
	}
	c.addName(t.common)
	if _, isKnown := places[c.Agent]; !isKnown && name != t.common {
		c.addName(name) // a tool of another agent may have the name
	}
	return t
}

func (c *Call) addName(names ...string) {
	for _, name := range names {
		switch {
		case slices.Contains(c.Names, name):
		case len(c.Names) == 256:
			c.addUnread(Span{}, "it is a call of too many tools")
			return
		default:
			c.Names = append(c.Names, name)
		}
	}
}

// hasPlace reports whether the arguments name the place of a search, in the agent's own words. Else it is in
// the working directory.
func (c *Call) hasPlace(arguments *Value) bool {
	if c.Agent == "copilot" && strings.HasSuffix(c.Tool, "_search") { // VS Code: in the whole workspace
		return false
	}
	return slices.ContainsFunc(arguments.members, func(m Member) bool {
		return containsWord(places[c.Agent].search, m.Name) && (m.literal != "" || len(m.members) > 0)
	})
}

// item reads an item in place of the arguments: a text, or an object of a list.
func (r reader) item(v *Value, at string) {
	switch {
	case v.kind == ObjectKind && len(v.named(callNames...)) > 0 && len(v.named(callArguments...)) > 0:
		r.calls(v, at)
	case v.kind == ObjectKind:
		r.nested(v, at)
	case v.kind == TextKind && isPatch(v.literal):
		r.call.readPatch(v.literal, wholeSpan(v, at))
	case v.kind == TextKind && r.tool.common == "Bash":
		if r.tool.args["-"] != "lines" {
			r.call.addUnread(Span{Pointer: at}, "its arguments are not an object")
		}
		r.run(v.literal, wholeSpan(v, at), r.shell())
	case v.kind == TextKind && r.tool.args["-"] == "lines":
		r.run(v.literal, wholeSpan(v, at), r.shell())
	case v.kind == TextKind && r.tool.args["-"] != "":
		r.member(Member{"-", 0, v}, at)
	case v.kind != NullKind:
		r.call.addUnread(Span{Pointer: at}, "its arguments are not an object")
	}
}

// whole reads the arguments of a tool, which may be those of another tool.
func (r reader) whole(n *Value, at string) {
	whole := r.tool.args["*"]
	isPermission := r.call.Agent == "opencode" && len(n.named("tool")) > 0 && len(n.named("args")) > 0
	switch {
	case whole == "mcp":
		r.mcpNames(n, at)
		r.tool = tool{}
	case whole == "call" || isPermission:
		r.calls(n, at)
		args := map[string]string{"arguments": "data", "args": "data"}
		maps.Copy(args, r.tool.args)
		r.tool.args = args
	}
	r.object(n, at)
}

// object reads the members of an object.
func (r reader) object(n *Value, at string) {
	r.setContext(n, at)
	for _, m := range n.members {
		r.member(m, below(at, m.Name))
	}
	r.commands(n, at)
}

// setContext reads the members that change the meaning of others, and adds the ambiguous ones.
func (r *reader) setContext(n *Value, at string) {
	c, count := r.call, map[string]int{}
	r.dirs, r.isURL = nil, false
	for _, m := range n.members {
		kind := r.tool.kindOf(m.Name)
		if kind == "" || kind == "data" {
			continue
		}
		name := normalizeName(m.Name)
		if count[name]++; count[name] == 2 {
			c.addUnread(Span{Pointer: below(at, m.Name)}, "the argument %s is there twice", m.Name)
		}
		if kind == "dir" && m.literal != "" {
			c.Dirs = append(c.Dirs, c.resolve(m.literal))
		}
		switch {
		case m.kind != TextKind || m.literal == "":
		case kind == "mode":
			r.op = cmp.Or(modes[strings.ToLower(m.literal)], r.op)
		case kind == "dir" && c.resolve(m.literal) == c.Dir:
		case kind == "dir" && c.Agent == "" && r.tool.common == "Bash": // any agent's
			c.Dir = c.resolve(m.literal)
		case kind == "dir" && (!r.tool.known || c.Agent == ""):
			r.other = c.resolve(m.literal)
		case kind == "dir" && (r.tool.common != "Bash" || !containsWord(places[c.Agent].command, m.Name)):
			c.addUnread(wholeSpan(m.Value, below(at, m.Name)), "it is not clear in which directory it runs")
		case kind == "dir":
			if c.Dir = c.resolve(m.literal); volumeOf(c.Dir) == "" {
				c.Dir = ""
			}
		case kind == "url":
			r.isURL = true
		}
		if kind == "file" {
			m.eachText("", func(text string, _ Span) { r.dirs = append(r.dirs, text) }, func(*Value, string) {})
		}
	}
	if len(r.dirs) == 0 || r.tool.known && !c.hasPlace(n) {
		r.dirs = append(r.dirs, ".")
	}
}

// member reads a member that is no command. r.commands reads those.
func (r reader) member(m Member, at string) {
	c, v, kind := r.call, m.Value, r.tool.kindOf(m.Name)
	if m.Name == "-" {
		kind = r.tool.args["-"]
	}
	if containsWord(containers, normalizeName(m.Name)) || kind == "calls" || kind == "file" {
		v, at = v.unwrap(at)
	}
	if looksLikePath(m.Name) { // {"files": {"/p/a": "text"}}
		c.addPath(m.Name, r.op, Span{Pointer: at})
	}
	switch kind {
	case "name":
		v.eachText(at, func(text string, span Span) {
			if !r.tool.known && strings.ContainsAny(text, "/.") && !strings.ContainsAny(text, " \n") && !looksLikePath(text) {
				c.addPath(text, r.op, span)
			}
		}, func(*Value, string) {})
		r.nested(v, at)
	case "", "stdin":
		r.nested(v, at)
	case "file", "read", "write", "delete", "move", "pattern", "tasks":
		r.paths(kind, v, at)
	case "typed":
		r.typed(v, at)
	case "patch":
		v.eachText(at, c.readPatch, r.nested)
	case "url", "uri":
		v.eachText(at, func(text string, span Span) { r.address(kind, text, span) }, r.nested)
	case "text":
		if !r.isURL || c.Agent == "gemini" {
			v.eachText(at, c.addAddressesIn, r.nested)
		}
	case "calls":
		r.calls(v, at)
	case "shell":
		if r.shell() != POSIX || !plainShell().MatchString(v.literal) { // else the line would be read as that of another shell
			r.hidden(at)
		}
	case "hidden":
		r.hidden(at)
	}
}

// plainShell matches a shell of the system, whose lines are read as those of bash.
var plainShell = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^((/usr)?/bin/)?(ba|z|da|k)?sh$`) })

// containers are names of arguments that may have arguments as JSON text.
const containers = "operations parameters params input toolinput toolargs mcptoolarguments requests"

// nested reads the objects in a value whose name has no meaning.
func (r reader) nested(v *Value, at string) {
	switch {
	case v.kind == ObjectKind:
		names, arguments := v.named(callNames...), v.named(callArguments...)
		if len(names) == 1 && len(arguments) == 1 && arguments[0].kind == ObjectKind && toolOf(names[0].literal).known {
			r.calls(v, at)
			return
		}
		dir := r.call.Dir
		r.object(v, at)
		r.call.Dir = dir
	case v.kind == TextKind && !r.tool.known && isPatch(v.literal):
		r.call.readPatch(v.literal, wholeSpan(v, at))
	case v.kind == TextKind && !r.tool.known && looksLikePath(v.literal):
		r.call.addPath(v.literal, r.op, wholeSpan(v, at))
	case v.kind == ArrayKind:
		for _, m := range v.members {
			r.nested(m.Value, below(at, m.Name))
		}
	}
}

// looksLikePath reports whether a text in an argument of unknown meaning is a path: absolute, relative to
// . or .., or the name of a hidden file.
func looksLikePath(text string) bool {
	if len(text) < 2 || len(text) > 1024 || strings.ContainsAny(text, "\n\t\"<>|") || strings.Contains(text, " ") && text[0] == '.' {
		return false
	}
	plain := strings.ReplaceAll(text, `\`, "/")
	isHidden := text[0] == '.' && (text[1] >= 'a' && text[1] <= 'z' || text[1] >= 'A' && text[1] <= 'Z')
	return volumeOf(plain) != "" || isHidden || strings.HasPrefix(plain, "./") || strings.HasPrefix(plain, "../") ||
		strings.HasPrefix(plain, "**/") || strings.HasPrefix(plain, "*.") || isFileURI(plain) && strings.HasPrefix(plain[5:], "/")
}

// paths adds the paths of an argument: a text, a list, or objects with paths.
func (r reader) paths(kind string, v *Value, at string) {
	op := r.op
	if slices.Contains([]FileOp{ReadFile, WriteFile, DeleteFile, MoveFile}, FileOp(kind)) {
		op = FileOp(kind)
	}
	if v.kind == NumberKind || v.kind == BoolKind {
		if r.tool.known {
			r.call.addUnread(Span{Pointer: at}, "its argument for a path is not text")
		}
		return
	}
	v.eachText(at, func(text string, span Span) {
		switch {
		case kind == "tasks":
			r.call.addPath(strings.TrimRight(text, `/\`)+"/.vscode/tasks.json", WriteFile, span)
		case kind == "pattern" && strings.HasPrefix(text, "!"): // an exclusion
		case kind == "pattern" && volumeOf(strings.ReplaceAll(text, `\`, "/")) == "":
			if len(r.dirs) > maxReadings {
				r.call.addUnread(span, "it is about too many directories")
			}
			for _, dir := range r.dirs[:min(len(r.dirs), maxReadings)] {
				r.call.addPath(strings.TrimRight(dir, `/\`)+"/"+text, op, span)
			}
		default:
			r.call.addPath(text, op, span)
			if r.other != "" && schemeOf(text) == "" && volumeOf(strings.ReplaceAll(text, `\`, "/")) == "" {
				r.call.addPath(r.other+"/"+text, op, span)
			}
		}
	}, r.nested)
}

// address adds an address of the kind url or uri. A uri may be a path.
func (r reader) address(kind, text string, at Span) {
	switch {
	case kind == "uri" && (isFileURI(text) || !strings.Contains(text, "://")):
		r.call.addPath(text, r.op, at)
	case r.tool.common == "WebFetch":
		r.call.addAddress(text, "GET", at)
	default:
		r.call.addAddress(text, "", at)
	}
}

func containsWord(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// hidden adds that the call runs code that can't be read.
func (r reader) hidden(at string) {
	r.call.addUnread(Span{Pointer: at}, "it runs something other than a command line")
}

var (
	callNames     = []string{"name", "tool", "toolname", "recipientname"}
	callArguments = []string{"args", "arguments", "parameters", "input", "toolargs", "toolinput"}
)

// calls reads calls of other tools: an object with a name and arguments, or a list of them.
func (r reader) calls(v *Value, at string) {
	c, dir := r.call, r.call.Dir
	if v.kind == ArrayKind {
		for _, m := range v.members {
			r.calls(m.Value, below(at, m.Name))
		}
		return
	}
	names, arguments := v.named(callNames...), v.named(callArguments...)
	if len(names) != 1 || len(arguments) > 1 || names[0].literal == "" {
		c.addUnread(Span{Pointer: at}, "its name or its arguments are not clear")
	}
	if len(names) == 0 {
		names = []Member{{"", 0, &Value{kind: NullKind}}}
	}
	if len(arguments) == 0 {
		arguments = []Member{{"", 0, &Value{kind: NullKind}}}
	}
	for _, name := range names[:min(len(names), 2)] {
		if name.literal != "" {
			c.addName(name.literal)
		}
		for _, m := range arguments[:min(len(arguments), 2)] {
			r.readTool(name.literal, m.Value, below(at, m.Name))
			c.Dir = dir
		}
	}
}

// mcpNames adds the name of an MCP tool that is in the arguments.
func (r reader) mcpNames(n *Value, at string) {
	servers, names := n.named("servername", "mcpservername", "server"), n.named("toolname", "mcptoolname", "tool")
	if len(names) != 1 || len(servers) != 1 {
		r.call.addUnread(Span{Pointer: at}, "the MCP tool that it calls is not clear")
	}
	if len(servers) == 0 {
		servers = []Member{{"", 0, &Value{kind: NullKind}}}
	}
	for _, name := range names[:min(len(names), maxReadings)] {
		for _, server := range servers[:min(len(servers), maxReadings)] {
			r.call.addName(mcpName(server.literal, name.literal))
		}
	}
}
