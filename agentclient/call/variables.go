package call

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// setters are builtins that set the variables that their words name.
const setters = " read readarray mapfile printf getopts unset local export declare readonly typeset wait command builtin let print vared "

// specials are variables that a shell sets.
const specials = " PWD OLDPWD REPLY OPTARG OPTIND RANDOM SECONDS LINENO IFS DIRSTACK FUNCNAME PIPESTATUS SHLVL COLUMNS LINES "

// maxVariables is the length of the longest line whose variables are known.
const maxVariables = 64 << 10

// findVariables counts the assignments of each variable in a line, and finds those that certainly run. A
// variable whose name is unknown counts for "", as does code that may assign any.
func (l *line) findVariables(file *syntax.File) {
	count := map[string]int{}
	if l.count, l.values = count, map[string]Word{}; len(l.text) > maxVariables {
		count[""], l.assigned["HOME"], l.assigned["PWD"] = 1, true, true
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				count[n.Name.Value]++
			} else if n.Value != nil && strings.HasPrefix(n.Value.Lit(), "-") && strings.Contains(n.Value.Lit(), "n") {
				count[""]++ // declare -n: a second name for a variable
			}
		case *syntax.WordIter:
			count[n.Name.Value]++
		case *syntax.FuncDecl:
			if n.Name == nil { // () a
				l.unread(l.spanOf(n), "a function has no name, which only some shells read")
				break
			}
			count[n.Name.Value]++
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				count[n.Param.Value]++
			}
		case *syntax.CallExpr:
			countSet(count, n.Args)
		}
		return true
	})
	for _, name := range []string{"HOME", "PWD"} {
		l.assigned[name] = l.assigned[name] || count[name] > 0
	}
	l.certain = map[syntax.Node]bool{}
	for _, s := range file.Stmts {
		l.findCertain(s)
	}
}

// countSet counts the variables that the words of a command may set.
func countSet(count map[string]int, words []*syntax.Word) {
	name := ""
	for i, w := range words {
		text := constant(w)
		switch {
		case i == 0:
			name = text
			if has(codeRunners, name) {
				count[""]++
			}
		case name == "" || has(setters, name):
			variable, _, _ := strings.Cut(text, "=")
			count[variable]++
		}
	}
}

// codeRunners run code in the shell itself.
const codeRunners = " eval source . trap alias "

// constant returns the text of a word without expansions, or "".
func constant(w *syntax.Word) string {
	text := w.Lit()
	for _, part := range w.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && !q.Dollar {
			text += q.Value
		} else if lit, ok := part.(*syntax.Lit); ok && w.Lit() == "" {
			text += lit.Value
		} else if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			text += constant(&syntax.Word{Parts: q.Parts})
		} else if !ok && w.Lit() == "" {
			return ""
		}
	}
	return strings.ReplaceAll(text, `\`, "")
}

// isOnce reports whether a line assigns a variable once.
func (l *line) isOnce(name string) bool {
	return l.count[name] == 1 && l.count[""] == 0 && l.count["IFS"] == 0 && !has(specials, name) && !strings.HasPrefix(name, "BASH")
}

// findCertain finds the assignments that run if a later statement of the line does. It reports whether
// the statement does nothing else.
func (l *line) findCertain(s *syntax.Stmt) (onlyAssigns bool) {
	if s.Background || s.Coprocess {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			l.certain[cmd] = true
			return true
		}
		return has(" cd set true : ", cmd.Args[0].Lit())
	case *syntax.DeclClause:
		// -i and others change the value
		l.certain[cmd] = !slices.ContainsFunc(cmd.Args, func(a *syntax.Assign) bool { return a.Name == nil })
		return true
	case *syntax.BinaryCmd:
		return cmd.Op != syntax.Pipe && cmd.Op != syntax.PipeAll && l.findCertain(cmd.X) && cmd.Op == syntax.AndStmt && l.findCertain(cmd.Y)
	}
	return false
}

// maxValue is the length of the longest value that is kept.
const maxValue = 256

// know keeps the values of assignments.
func (l *line) know(n syntax.Node, assigns []*syntax.Assign, words []Word) {
	for i, a := range assigns {
		if !l.certain[n] || a.Naked || a.Append || a.Index != nil || a.Array != nil || !l.isOnce(a.Name.Value) {
			continue
		}
		value := words[i]
		value.Text, value.Splits = strings.TrimPrefix(value.Text, a.Name.Value+"="), value.Dynamic
		if len(value.Text) > maxValue {
			continue // A=$A$A grows fast
		}
		if value.Text == Expansion && l.isPath(a.Value) {
			value.Text = "/" + Expansion
		}
		l.values[a.Name.Value] = value
	}
}

// isPath reports whether a word is the output of a program that prints an absolute path.
func (l *line) isPath(w *syntax.Word) bool {
	parts := w.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = q.Parts
	}
	if len(parts) != 1 {
		return false
	}
	subst, ok := parts[0].(*syntax.CmdSubst)
	if !ok || len(subst.Stmts) != 1 {
		return false
	}
	call, ok := subst.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || l.count[call.Args[0].Lit()] > 0 {
		return false
	}
	last := call.Args[len(call.Args)-1].Lit()
	return has(" pwd realpath ", call.Args[0].Lit()) || call.Args[0].Lit() == "mktemp" && (has(" mktemp -d -u -q ", last) || strings.HasPrefix(last, "/"))
}

// loopValue returns the value of a variable in a loop over words, if something is known about all of them.
func loopValue(items []Word) (value Word, known bool) {
	if len(items) == 0 {
		return value, false
	}
	prefix := items[0].Text
	for _, w := range items {
		if w.Text == "" || strings.IndexByte("-+*?[@\x00", w.Text[0]) >= 0 || w.Splits || w.isMany {
			return value, false
		}
		value.Dynamic = value.Dynamic || w.Dynamic
		value.Splits = value.Splits || w.Dynamic || w.Pattern || strings.ContainsAny(w.Text, " \t\n")
		for !strings.HasPrefix(w.Text, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	if value.Text = items[0].Text; len(items) > 1 || value.Splits {
		value.Text, value.Dynamic = prefix[:strings.LastIndexAny(prefix, "/")+1]+Expansion, true
		if value.Text == Expansion {
			value.Text = "./" + Expansion
		}
	}
	return value, true
}

// substitute adds the value of a variable, if it is known. Without quotes it must be one word.
func (b *wordBuilder) substitute(p *syntax.ParamExp, isFirst, isQuoted bool) bool {
	value, ok := b.values[p.Param.Value]
	switch {
	case !ok || !isQuoted && (value.Text == "" || strings.ContainsAny(value.Text, " \t\n*?[\\")):
		return false
	case !value.Dynamic:
		b.word.IsEscaped = b.word.IsEscaped || value.IsEscaped
	case len(value.Vars) == strings.Count(value.Text, Expansion):
		b.word.Vars = append(b.word.Vars, value.Vars...)
	default:
		b.word.Vars = append(b.word.Vars, b.variable(p))
	}
	if value.Dynamic && !isFirst {
		value.Text = Expansion
	}
	b.out.WriteString(value.Text)
	b.word.Dynamic = b.word.Dynamic || value.Dynamic
	b.word.Splits = b.word.Splits || value.Splits && !isQuoted
	return true
}
