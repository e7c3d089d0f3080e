package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

var (
	dropsData       = rule{"drop_data", high, "It deletes tables or a whole database, including all data."}
	deletesRows     = rule{"drop_data", high, "It deletes every row of a table."}
	updatesRows     = rule{"drop_data", high, "It changes every row of a table."}
	killsEverything = rule{"system", critical, "It stops every process that it is allowed to stop."}
	codeDeletes     = rule{"recursive_delete", high, "Its code deletes folders and everything in them."}
)

func (a *assessor) sqlClient(inv *invocation) {
	a.sqlProgram(inv)
	for i := range inv.args {
		if w := &inv.args[i]; strings.ContainsAny(w.Text, " ;") {
			a.assessSQL(a.textOf(w, strings.TrimPrefix(w.Text, "-e")))
		}
	}
	for i := range inv.cmd.Redirects {
		if in := &inv.cmd.Redirects[i]; strings.HasPrefix(in.Op, "<<") {
			a.assessSQL(a.textOf(&in.Target, in.Target.Text))
		}
	}
	for _, c := range a.writers(inv.cmd) {
		if a.pipeBudget--; a.pipeBudget < 0 {
			return
		}
		if name := commandName(&c); name == "echo" || name == "printf" || name == "cat" {
			for i := range c.Words[1:] {
				a.assessSQL(a.textOf(&c.Words[i+1], c.Words[i+1].Text))
			}
			for i := range c.Redirects {
				if strings.HasPrefix(c.Redirects[i].Op, "<<") {
					a.assessSQL(a.textOf(&c.Redirects[i].Target, c.Redirects[i].Target.Text))
				}
			}
		}
	}
}

// textOf returns the text of a word with its place in the arguments. If quotes or escapes are in the word, no
// part of it has a place of its own.
func (a *assessor) textOf(w *call.Word, text string) *call.Text {
	t := &call.Text{Text: text, Span: w.Span}
	for _, quotes := range []int{0, 1} {
		inner := call.Span{Pointer: w.Span.Pointer, From: w.Span.From + quotes, To: w.Span.To - quotes}
		if a.text(inner) == text {
			t.Span = inner
		}
	}
	return t
}

// statement is the state of one SQL statement during parsing.
type statement struct {
	from, to int
	words    []string // the first four, in upper case
	hasWhere bool
}

// assessSQL assesses text as SQL. It skips strings and comments.
func (a *assessor) assessSQL(src *call.Text) {
	s, st := src.Text, statement{from: -1}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"' || c == '`':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				n = len(s) - i - 2
			}
			st.addWord("?", i, i+n+2)
			i += n + 2
		case strings.HasPrefix(s[i:], "--"):
			i += lineEnd(s[i:])
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i:], "*/")
			if n < 0 {
				n = len(s) - i
			}
			i += n + 2
		case c == ';':
			a.assessStatement(src, &st)
			st = statement{from: -1}
			i++
		case isLetter(c) || c == '_':
			n := 1
			for i+n < len(s) && (isLetter(s[i+n]) || isDigit(s[i+n]) || s[i+n] == '_' || s[i+n] == '.') {
				n++
			}
			st.addWord(s[i:i+n], i, i+n)
			i += n
		default:
			i++
		}
	}
	a.assessStatement(src, &st)
}

func (st *statement) addWord(text string, from, to int) {
	if st.from < 0 {
		st.from = from
	}
	st.to = to
	if len(st.words) < 4 {
		st.words = append(st.words, strings.ToUpper(text))
	}
	st.hasWhere = st.hasWhere || strings.EqualFold(text, "WHERE") || strings.EqualFold(text, "LIMIT")
}

func (a *assessor) assessStatement(src *call.Text, st *statement) {
	if len(st.words) < 2 {
		return
	}
	w, sp := st.words, src.Span
	if src.Span.To-src.Span.From == len(src.Text) {
		sp = span(src, st.from, min(st.to, len(src.Text)))
	}
	switch {
	case w[0] == "DROP" && slices.Contains([]string{"TABLE", "DATABASE", "SCHEMA", "COLLECTION", "KEYSPACE"}, w[1]), w[0] == "DROP" && w[1] == "MATERIALIZED":
		a.add(dropsData, sp)
	case w[0] == "TRUNCATE":
		a.add(deletesRows, sp)
	case w[0] == "DELETE" && w[1] == "FROM" && len(w) > 2 && !st.hasWhere:
		a.add(deletesRows, sp)
	case w[0] == "UPDATE" && slices.Contains(w, "SET") && !st.hasWhere:
		a.add(updatesRows, sp)
	case w[0] == "ALTER" && w[1] == "TABLE" && len(w) == 4 &&
		(w[3] == "DROP" || strings.Contains(strings.ToUpper(src.Text[st.from:min(st.to, len(src.Text))]), " DROP COLUMN ")):
		a.add(dropsData, sp)
	}
}

// interpreter handles programs that run code in another language. It assesses the code by the
// functions that it calls.
func (a *assessor) interpreter(inv *invocation) {
	for _, script := range a.scripts(inv) {
		if a.assessCode(inv, script, inv.span) {
			return
		}
	}
	if inv.name == "python" && inv.hasArgument("-m") && inv.hasArgument("pip") && inv.hasArgument("install") {
		at := slices.IndexFunc(inv.args, func(w call.Word) bool { return w.Text == "pip" })
		pip := *inv
		pip.name, pip.span, pip.args = "pip", through(inv.args[at].Span, inv.span), inv.args[at+1:]
		a.applyRuleTable(&pip)
		return
	}
	w := call.OptionValue(inv.args, "-c", "-e", "--eval", "-p", "--print", "eval", "-pe", "-ne")
	if w == nil || inv.name == "php" {
		w = call.OptionValue(inv.args, "-r")
	}
	if w == nil {
		list := inv.operands()
		if len(list) == 0 || inv.hasArgument("-") {
			if sp, piped := a.pipeSpan(inv); piped {
				a.checkRunOutput(inv, a.writers(inv.cmd), sp)
			}
		} else {
			a.checkDownloaded(inv, &list[0])
		}
		return
	}
	a.checkRunOutput(inv, a.commandsIn(w.Subs), inv.span)
}

func (a *assessor) assessCode(inv *invocation, text string, sp call.Span) bool {
	for _, call := range []string{"rmtree(", "rmSync(", "rm_rf", "removeSync(", "rimraf", "remove_dir_all", "rmdirSync(", "remove_tree", "fs.rm("} {
		if strings.Contains(text, call) && !strings.Contains(text, "recursive: false") {
			a.add(codeDeletes, sp)
			return true
		}
	}
	for _, call := range []string{"os.system(", "subprocess.", "execSync(", "child_process", "exec(", "system("} {
		if strings.Contains(text, call) &&
			(strings.Contains(text, "rm -rf") || strings.Contains(text, "rm -fr") ||
				strings.Contains(text, `"rm", "-rf"`) || strings.Contains(text, "'rm', '-rf'")) {
			a.add(codeDeletes, sp)
			return true
		}
	}
	if (strings.Contains(text, "http") || strings.Contains(text, "socket")) && oversight.NamesHubRoute(text, oversight.MayChange(text)) {
		a.add(answersHub, sp)
		return true
	}
	if strings.Contains(text, "exec(") && strings.Contains(text, "b64decode") || strings.Contains(text, "eval(atob(") {
		a.add(runsDecoded, sp)
		return true
	}
	if runsPrograms(inv.name, text) {
		a.add(codeRuns, sp)
		return true
	}
	return false
}

// kill reports kill -SIGNAL -1, which signals every process of the user.
func (a *assessor) kill(inv *invocation) {
	if n := len(inv.args); n > 1 && inv.args[n-1].Text == "-1" {
		a.add(killsEverything, inv.span)
	}
}
