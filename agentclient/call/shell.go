package call

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxLine and maxNesting bound the time of the parser: 10,000 nested $(( take it a second, 64 less
	// than a millisecond.
	maxLine    = 256 << 10
	maxNesting = 64
	// maxScripts is how deep scripts in scripts are read, as in sh -c 'sh -c …'.
	maxScripts = 8
	// maxCommands bounds the reading of one call: a script in a word is read for every command that may
	// run the word.
	maxCommands = 4096
	// maxWrapped bounds the words in the readings of env -a env -a …, in which each word may be a value or a
	// command, and maxScriptBytes the text of all scripts.
	maxWrapped     = 1 << 15
	maxScriptBytes = 1 << 20
	maxUnread      = 64
)

// Expansion replaces text in Word.Text that is known only at run time.
const Expansion = "\x00"

// line reads one command line, or one script.
type line struct {
	c      *Call
	text   string
	at     Span // of the text; its length differs from text's where the script had quotes
	depth  int
	by     int    // command that runs the line; -1: none
	adds   int    // command whose files are read; -1: none
	parts  []part // of a line that is a list
	dir    string
	dirs   []string // where it may run instead, after a cd that may have failed or may not run
	stdin  input
	inWord bool // in a substitution, whose output becomes words
	// assigned are the variables that it sets: $HOME is known unless it is one of them.
	assigned map[string]bool
	values   map[string]Word      // of variables that are known
	certain  map[syntax.Node]bool // assignments that certainly run
	count    map[string]int       // of assignments, by variable
	// quotesCode: a quoted text has a substitution. evaluates: a builtin or an arithmetic expression may
	// evaluate a variable, and run it.
	// namesIndex: a text has the [ of an index, without which none is evaluated.
	quotesCode, namesIndex, evaluates bool
}

// input is the content of the standard input of a command.
type input struct {
	kind     inputKind
	script   Word // of a here-document; of a file its name
	from, to int  // of a pipe: the commands in Call.Commands that write to it
}

type inputKind int

const (
	noInput inputKind = iota // that of the agent, which is empty
	fileInput
	hereInput
	pipeInput
	unknownInput
)

// readCommand adds the commands of a command line that the call has at a place.
func (c *Call) readCommand(text string, at Span, sh Shell, parts []part) {
	c.Lines = append(c.Lines, Line{text, sh, at})
	l := &line{c: c, text: text, at: at, by: -1, adds: -1, parts: parts, dir: c.Dir, assigned: map[string]bool{}}
	if c.stdin.Text != "" {
		l.stdin = input{kind: hereInput, script: c.stdin}
	}
	if sh != POSIX {
		l.readWindows(sh, None)
		return
	}
	l.read(None)
}

func (l *line) unread(at Span, format string, args ...any) {
	l.c.addUnread(at, format, args...)
}

func (c *Call) addUnread(at Span, format string, args ...any) {
	if len(c.Unread) < maxUnread {
		c.Unread = append(c.Unread, Unread{fmt.Sprintf(format, args...), at})
	}
}

// read reads a POSIX line. before connects its first command to the one that runs the line.
func (l *line) read(before Operator) {
	switch {
	case len(l.text) > maxLine:
		l.unread(l.at, "the command is longer than 256 KiB")
		return
	case l.depth > maxScripts || nesting(l.text) > maxNesting:
		l.unread(l.at, "the command is nested too deeply")
		return
	case strings.ContainsRune(l.text, 0):
		l.unread(l.at, "the command contains the character U+0000")
		return
	case isMisread(l.text):
		l.unread(l.at, "shells read its line breaks in different ways")
	}
	if rest := strings.TrimRight(l.text, `\`); (len(l.text)-len(rest))%2 == 1 {
		l.text = l.text[:len(l.text)-1] + " " // bash drops it
	}
	joins := strings.Contains(l.text, "\\\n")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(joins)).Parse(strings.NewReader(l.text), "")
	if file != nil {
		syntax.Walk(file, func(n syntax.Node) bool {
			if comment, ok := n.(*syntax.Comment); ok && strings.HasSuffix(comment.Text, "\\\n") { // bash does not join it with the next line
				l.unread(l.spanOf(comment), "a comment ends with a backslash")
			}
			return joins
		})
		l.findVariables(file)
		l.statements(file.Stmts, before) // also those before an error, which bash has already run
	}
	var problem syntax.ParseError
	switch {
	case errors.As(err, &problem):
		from := min(int(problem.Pos.Offset()), len(l.text)) //nolint:gosec // at most maxLine
		l.unread(l.span(from, len(l.text)), "a shell can't read it: %s", problem.Text)
	case err != nil:
		l.unread(l.at, "a shell can't read it: %v", err)
	}
	if l.quotesCode && l.namesIndex && l.evaluates {
		l.unread(l.at, "a quoted substitution may be evaluated as arithmetic")
	}
}

// isMisread reports whether the parser reads line breaks in a text in another way than bash: it removes a
// carriage return before a line feed, takes others for blanks, and $\⏎'x' for '$x'.
func isMisread(text string) bool {
	plain := strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Contains(text, "$\\\n") || strings.Contains(plain, "\r") || strings.Contains(text, "\\\r") ||
		len(plain) < len(text) && strings.Contains(text, "<<")
}

// nesting returns an upper limit of how deep a text nests.
func nesting(text string) int {
	deepest, depth, ticks := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(0, depth-1)
		case '`':
			if i > 0 && text[i-1] == '\\' {
				ticks++ // nested backquotes are escaped
			}
		}
	}
	return deepest + ticks/2
}

// inside returns the place of a text that a word of the line has: without the word's quotes if it has nothing
// else around the text.
func (l *line) inside(text string, w Word) Span {
	if l.parts != nil {
		return w.Span
	}
	from, to := w.Span.From-l.at.From, w.Span.To-l.at.From
	isExact := l.at.To-l.at.From == len(l.text) && w.Span.Pointer == l.at.Pointer && from >= 0 && to <= len(l.text)
	if isExact && to-from == len(text)+2 && l.text[from+1:to-1] == text {
		return Span{w.Span.Pointer, w.Span.From + 1, w.Span.To - 1}
	}
	return w.Span
}

// span returns the place of text[from:to].
func (l *line) span(from, to int) Span {
	if i := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].to > from }); i < len(l.parts) && to <= l.parts[i].to {
		return l.parts[i].span(from, to)
	}
	if l.at.To-l.at.From != len(l.text) {
		return l.at // the script is a part of a word that had quotes inside
	}
	return Span{l.at.Pointer, l.at.From + from, l.at.From + to}
}

// span returns the place of text[from:to], which is in the part.
func (p *part) span(from, to int) Span {
	quotes := (p.to - p.from - p.size) / 2
	if quotes > 1 { // it has escapes
		return Span{p.at, 0, p.size}
	}
	return Span{p.at, max(0, from-p.from-quotes), min(to-p.from-quotes, p.size)}
}

func (l *line) spanOf(n syntax.Node) Span {
	return l.span(int(n.Pos().Offset()), int(n.End().Offset())) //nolint:gosec // at most maxLine
}

// nested is the reading of the commands that run inside of the line.
func (l *line) nested(stmts []*syntax.Stmt) {
	inner := *l
	inner.depth, inner.inWord = inner.depth+1, true
	if inner.depth > maxScripts+maxNesting {
		l.unread(l.at, "the command is nested too deeply")
		return
	}
	inner.statements(stmts, Substitution)
	l.quotesCode, l.namesIndex, l.evaluates = inner.quotesCode, inner.namesIndex, inner.evaluates
}

func (l *line) statements(stmts []*syntax.Stmt, before Operator) {
	for _, s := range stmts {
		dir := l.dir
		l.statement(s, before)
		before = Sequence
		if s.Background || s.Coprocess || s.Disown {
			before = Background
			l.mayLeave(dir)
			for i := len(l.c.Commands) - 1; i >= 0; i-- {
				if l.c.Commands[i].By == l.by {
					l.c.Commands[i].IsBackground = true
					break
				}
			}
		}
	}
}

func (l *line) statement(s *syntax.Stmt, before Operator) {
	redirects := l.redirects(s)
	outer := l.stdin
	defer func() { l.stdin = outer }()
	l.redirectInput(redirects)
	if s.Coprocess {
		l.stdin = input{kind: unknownInput}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		l.call(s, cmd, redirects, before)
		return
	case *syntax.DeclClause:
		l.declaration(s, cmd, redirects, before)
		return
	case nil:
	default:
		l.compound(cmd, before)
	}
	if len(redirects) > 0 {
		l.add(Command{Redirects: redirects, Before: before, Span: l.spanOf(s)})
	}
}

// compound reads the commands inside of a compound command, which may not run or in a process of their own.
func (l *line) compound(cmd syntax.Command, before Operator) {
	dir, dirs := l.dir, l.dirs
	l.inner(cmd, before)
	switch cmd.(type) {
	case *syntax.Subshell:
		l.dir, l.dirs = dir, dirs
	case *syntax.Block, *syntax.TimeClause, *syntax.BinaryCmd:
	default:
		l.mayLeave(dir)
	}
}

func (l *line) inner(cmd syntax.Command, before Operator) {
	switch cmd := cmd.(type) {
	case *syntax.BinaryCmd:
		from, dir, dirs := len(l.c.Commands), l.dir, l.dirs
		l.statement(cmd.X, before)
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			after := l.dirs
			if cmd.Op == syntax.AndStmt && l.dir != "" {
				l.dirs = dirs // a cd before it did not fail
			}
			l.statement(cmd.Y, map[syntax.BinCmdOperator]Operator{syntax.AndStmt: And, syntax.OrStmt: Or}[cmd.Op])
			l.mayBeIn(after...)
			return
		}
		l.mayLeave(dir)
		outer := l.stdin
		l.stdin = input{kind: pipeInput, from: from, to: len(l.c.Commands)}
		l.statement(cmd.Y, Pipe)
		l.stdin = outer
		l.mayLeave(dir)
	case *syntax.Block:
		l.statements(cmd.Stmts, before)
	case *syntax.Subshell:
		l.statements(cmd.Stmts, before)
	case *syntax.IfClause:
		for clause := cmd; clause != nil; clause = clause.Else {
			l.statements(clause.Cond, before)
			l.statements(clause.Then, Sequence)
			before = Sequence
		}
	case *syntax.WhileClause:
		l.statements(cmd.Cond, before)
		l.statements(cmd.Do, Sequence)
	case *syntax.ForClause:
		variable := l.loop(cmd)
		l.statements(cmd.Do, before)
		delete(l.values, variable)
	case *syntax.CaseClause:
		l.word(cmd.Word)
		for _, item := range cmd.Items {
			for _, pattern := range item.Patterns {
				l.word(pattern)
			}
			l.statements(item.Stmts, before)
		}
	case *syntax.FuncDecl:
		outer := l.stdin
		l.stdin = input{kind: unknownInput} // that of its callers
		l.statement(cmd.Body, before)
		l.stdin = outer
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			l.statement(cmd.Stmt, before)
		}
	case *syntax.CoprocClause:
		if cmd.Name != nil {
			l.unread(l.spanOf(cmd), "a coprocess has a name, which some shells run")
		}
		if call, ok := cmd.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && isNumber(call.Args[0].Lit()) {
			l.unread(l.spanOf(cmd), "a coprocess begins with a redirect") // 2> is no word
		}
		l.stdin = input{kind: unknownInput}
		l.statement(cmd.Stmt, before)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		l.evaluates = true
		l.expressions(cmd)
	default:
		l.unread(l.spanOf(cmd), "a shell can't read it: an unknown statement")
	}
}

// redirectInput sets the standard input that redirects choose.
func (l *line) redirectInput(redirects []Redirect) {
	for i := range redirects {
		r := &redirects[i]
		if r.FD != "" && r.FD != "0" {
			continue
		}
		switch r.Op {
		case "<<", "<<-", "<<<":
			l.stdin = input{kind: hereInput, script: r.Target}
		case "<", "<>":
			l.stdin = input{kind: fileInput, script: r.Target}
			if r.Target.Dynamic {
				l.stdin.kind = unknownInput
			}
		case "<&", ">&":
			l.stdin = input{kind: unknownInput}
		}
	}
}

// loop reads the words or the expressions of a loop. It returns the variable.
func (l *line) loop(cmd *syntax.ForClause) (variable string) {
	switch loop := cmd.Loop.(type) {
	case *syntax.WordIter:
		variable = loop.Name.Value
		l.assigned[variable] = true
		all := []Word{{}}
		for _, item := range loop.Items {
			all = append(all, l.words(item)...)
		}
		l.likelyFiles("for", &Command{Words: all})
		if value, known := loopValue(all[1:]); known && !cmd.Select && l.isOnce(variable) {
			l.values[variable] = value
		}
	case *syntax.CStyleLoop:
		l.evaluates = true
		l.expressions(loop)
	}
	return variable
}

// expressions reads the words in an arithmetic or a test expression.
func (l *line) expressions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			l.word(w)
			return false
		}
		return true
	})
}

func (l *line) redirects(s *syntax.Stmt) (all []Redirect) {
	for _, r := range s.Redirs {
		var w Word
		if r.Hdoc != nil {
			w = l.body(r)
		} else {
			w = l.word(r.Word)
		}
		one := Redirect{Op: r.Op.String(), Target: w, File: -1}
		if r.N != nil {
			one.FD = r.N.Value
		}
		all = append(all, one)
		if r.Hdoc != nil || r.Op == syntax.WordHdoc {
			continue
		}
		if (r.Op == syntax.DplOut || r.Op == syntax.DplIn) && strings.ContainsAny(w.Text, "$`") {
			l.unread(w.Span, "bash expands the name of a file twice")
		}
		if op := redirectOp(r.Op); op != "" && !isDescriptor(r.Op, w.Text) {
			all[len(all)-1].File = l.addFile(w, op)
		}
	}
	return all
}

func redirectOp(op syntax.RedirOperator) FileOp {
	switch op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut, syntax.DplOut:
		return WriteFile
	case syntax.RdrIn, syntax.DplIn:
		return ReadFile
	default:
		return ""
	}
}

// isDescriptor reports whether >&1 or <&- names a file descriptor.
func isDescriptor(op syntax.RedirOperator, target string) bool {
	return (op == syntax.DplOut || op == syntax.DplIn) && strings.Trim(target, "0123456789-") == ""
}

// addFile adds a file and returns its index, or -1 if there is none.
func (l *line) addFile(w Word, op FileOp) int {
	if w.Text == "" {
		return -1
	}
	if len(l.c.Files) >= maxCommands {
		l.unread(w.Span, "it names more than %d files", maxCommands)
		return -1
	}
	l.c.Files = append(l.c.Files, File{Path: joinDir(l.dir, w.Text), Op: op, Span: w.Span, Command: l.adds, IsPattern: w.Pattern, Word: &w})
	for _, dir := range l.dirs {
		l.addMayBe(dir, w, op)
	}
	return len(l.c.Files) - 1
}

func (l *line) addMayBe(dir string, w Word, op FileOp) {
	if len(l.c.MayBe) >= maxCommands {
		l.unread(w.Span, "it may name more than %d files", maxCommands)
		return
	}
	l.c.MayBe = append(l.c.MayBe, File{Path: joinDir(dir, w.Text), Op: op, Span: w.Span})
}

// mayBeIn adds directories in which the next commands may run.
func (l *line) mayBeIn(dirs ...string) {
	for _, dir := range dirs {
		if dir == "" || slices.Contains(l.dirs, dir) {
			continue
		}
		if l.dirs = append(slices.Clone(l.dirs), dir); len(l.dirs) > maxReadings {
			l.unread(l.at, "it may run in too many directories")
			l.dirs = nil
		}
	}
}

// mayLeave returns to a directory: the commands since then that left it may not run, or in a process of
// their own.
func (l *line) mayLeave(dir string) {
	if l.dir != dir {
		l.mayBeIn(l.dir)
		l.dir = dir
	}
}

// joinDir returns p as an absolute path if that is known.
func joinDir(dir, p string) string {
	if rest, ok := strings.CutPrefix(p, "~+/"); ok {
		p = rest
	}
	if dir == "" || volumeOf(p) != "" || p == "" || p[0] == '~' {
		return p
	}
	return path.Join(dir, p)
}

// call reads a simple command.
func (l *line) call(s *syntax.Stmt, call *syntax.CallExpr, redirects []Redirect, before Operator) {
	cmd := Command{Redirects: redirects, Before: before, Span: l.spanOf(s)}
	for _, a := range call.Assigns {
		cmd.Assignments = append(cmd.Assignments, l.assignment(a))
	}
	l.know(call, call.Assigns, cmd.Assignments)
	for _, r := range s.Redirs {
		if n := len(call.Args); n > 0 && (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) && call.Args[n-1].End().After(r.End()) {
			l.unread(cmd.Span, "sh takes &> for the end of a command")
		}
	}
	for _, w := range call.Args {
		cmd.Words = append(cmd.Words, l.words(w)...)
	}
	l.add(cmd)
}

// declaration reads export, declare, local, readonly and typeset.
func (l *line) declaration(s *syntax.Stmt, d *syntax.DeclClause, redirects []Redirect, before Operator) {
	l.evaluates = true
	cmd := Command{Redirects: redirects, Before: before, Span: l.spanOf(s)}
	cmd.Words = append(cmd.Words, Word{Text: d.Variant.Value, Span: l.spanOf(d.Variant)})
	for _, a := range d.Args {
		if a.Naked && a.Value != nil {
			cmd.Words = append(cmd.Words, l.word(a.Value))
			continue
		}
		cmd.Words = append(cmd.Words, l.assignment(a))
	}
	l.add(cmd)
	l.know(d, d.Args, cmd.Words[1:])
}

func (l *line) assignment(a *syntax.Assign) Word {
	w := Word{Span: l.spanOf(a)}
	if a.Name != nil {
		w.Text = a.Name.Value
		l.assigned[w.Text] = true
		if !syntax.ValidName(w.Text) { // x!=[a]/run is a program, which the parser takes for a variable
			l.unread(w.Span, "a word may be a variable or a program")
		}
	}
	if a.Index != nil {
		l.evaluates = true
		l.expressions(a.Index)
		w.Text += "[" + Expansion + "]"
	}
	if !a.Naked {
		w.Text += "="
	}
	if a.Value != nil {
		value := l.word(a.Value)
		w.Text += value.Text
		w.Dynamic, w.IsQuoted, w.IsEscaped, w.Vars, w.Subs = value.Dynamic, value.IsQuoted, value.IsEscaped, value.Vars, value.Subs
	}
	if a.Array != nil {
		all := []Word{{}}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				l.evaluates = true
				l.expressions(e.Index)
			}
			if e.Value != nil {
				all = append(all, l.word(e.Value))
			}
		}
		l.likelyFiles("for", &Command{Words: all})
		w.Text += Expansion
		w.Dynamic = true
	}
	return w
}
