package risk

import (
	"slices"
	"strings"
)

var (
	dropsData   = rule{"drop_data", high, "It deletes tables or a database with everything in them."}
	deletesRows = rule{"drop_data", high, "It deletes every row of a table."}
	updatesRows = rule{"drop_data", high, "It changes every row of a table."}
	killsAll    = rule{"system", critical, "It ends every program that it may."}
	codeDeletes = rule{"recursive_delete", high, "Its code deletes folders with everything in them."}
)

func (j *judge) sqlClient(r *run) {
	for i := range r.args {
		if w := &r.args[i]; strings.ContainsAny(w.text, " ;") {
			j.sql(w.span.within(strings.TrimPrefix(w.text, "-e")))
		}
	}
	for i := range r.cmd.redirects {
		if in := &r.cmd.redirects[i]; strings.HasPrefix(in.op, "<<") {
			j.sql(in.target.span.within(in.target.text))
		}
	}
	for _, c := range r.cmd.from {
		if name := commandName(c); name == "echo" || name == "printf" || name == "cat" {
			for i := range c.words[1:] {
				j.sql(c.words[i+1].span.within(c.words[i+1].text))
			}
			for i := range c.redirects {
				if strings.HasPrefix(c.redirects[i].op, "<<") {
					j.sql(c.redirects[i].target.span.within(c.redirects[i].target.text))
				}
			}
		}
	}
}

// statement is one SQL statement while it is read.
type statement struct {
	from, to int
	words    []string // the first ones, upper case
	where    bool
}

// sql judges a text as SQL. Strings and comments in it are passed over.
func (j *judge) sql(src *source) {
	if j.bytes -= len(src.text); j.bytes < 0 {
		j.add(unreadable, span{src, 0, len(src.text)})
		return
	}
	s, st := src.text, statement{from: -1}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"' || c == '`':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				n = len(s) - i - 2
			}
			st.word("?", i, i+n+2)
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
			j.statement(src, &st)
			st = statement{from: -1}
			i++
		case isLetter(c) || c == '_':
			n := 1
			for i+n < len(s) && (isLetter(s[i+n]) || isDigit(s[i+n]) || s[i+n] == '_' || s[i+n] == '.') {
				n++
			}
			st.word(s[i:i+n], i, i+n)
			i += n
		default:
			i++
		}
	}
	j.statement(src, &st)
}

func (st *statement) word(text string, from, to int) {
	if st.from < 0 {
		st.from = from
	}
	st.to = to
	if len(st.words) < 4 {
		st.words = append(st.words, strings.ToUpper(text))
	}
	st.where = st.where || strings.EqualFold(text, "WHERE") || strings.EqualFold(text, "LIMIT")
}

func (j *judge) statement(src *source, st *statement) {
	if len(st.words) < 2 {
		return
	}
	w, x := st.words, span{src, st.from, min(st.to, len(src.text))}
	switch {
	case w[0] == "DROP" && slices.Contains([]string{"TABLE", "DATABASE", "SCHEMA", "COLLECTION", "KEYSPACE"}, w[1]), w[0] == "DROP" && w[1] == "MATERIALIZED":
		j.add(dropsData, x)
	case w[0] == "TRUNCATE":
		j.add(deletesRows, x)
	case w[0] == "DELETE" && w[1] == "FROM" && len(w) > 2 && !st.where:
		j.add(deletesRows, x)
	case w[0] == "UPDATE" && slices.Contains(w, "SET") && !st.where:
		j.add(updatesRows, x)
	case w[0] == "ALTER" && w[1] == "TABLE" && len(w) == 4 && (w[3] == "DROP" || strings.Contains(strings.ToUpper(x.text()), " DROP COLUMN ")):
		j.add(dropsData, x)
	}
}

// code judges a program in another language by what it calls.
func (j *judge) code(r *run) {
	if r.name == "python" && r.word("-m") != nil && r.word("pip") != nil && r.word("install") != nil {
		at := slices.IndexFunc(r.args, func(w word) bool { return w.text == "pip" })
		j.inner(r, at)
		return
	}
	w := r.value("-c", "-e", "--eval", "-p", "--print", "eval", "-pe", "-ne")
	if w == nil {
		if len(r.operands()) == 0 || r.word("-") != nil {
			j.fedCode(r)
		}
		return
	}
	if !j.codeText(w.text, r.span) && len(w.subs) > 0 {
		j.runsOutput(r, w.subs, r.span)
	}
}

// fedCode is for code that comes from a pipe or a here document.
func (j *judge) fedCode(r *run) {
	for i := range r.cmd.redirects {
		if in := &r.cmd.redirects[i]; strings.HasPrefix(in.op, "<<") {
			j.codeText(in.target.text, r.span)
			return
		}
	}
	if len(r.cmd.from) > 0 {
		j.runsOutput(r, r.cmd.from, r.cmd.from[0].span.through(r.span))
	}
}

func (j *judge) codeText(text string, x span) bool {
	for _, call := range []string{"rmtree(", "rmSync(", "rm_rf", "removeSync(", "rimraf", "remove_dir_all", "rmdirSync(", "remove_tree", "fs.rm("} {
		if strings.Contains(text, call) && !strings.Contains(text, "recursive: false") {
			j.add(codeDeletes, x)
			return true
		}
	}
	for _, call := range []string{"os.system(", "subprocess.", "execSync(", "child_process", "exec(", "system("} {
		if strings.Contains(text, call) && (strings.Contains(text, "rm -rf") || strings.Contains(text, "rm -fr") || strings.Contains(text, `"rm", "-rf"`) || strings.Contains(text, "'rm', '-rf'")) {
			j.add(codeDeletes, x)
			return true
		}
	}
	if strings.Contains(text, "http") && answersRequest(text) {
		j.add(answersHub, x)
		return true
	}
	if strings.Contains(text, "exec(") && strings.Contains(text, "b64decode") || strings.Contains(text, "eval(atob(") {
		j.add(decodedRun, x)
		return true
	}
	return false
}

// kill ends every program when what it is to end is -1.
func (j *judge) kill(r *run) {
	if n := len(r.args); n > 1 && r.args[n-1].text == "-1" {
		j.add(killsAll, r.span)
	}
}
