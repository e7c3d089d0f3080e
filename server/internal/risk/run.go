package risk

import (
	"path"
	"slices"
	"strings"
)

// run is a program with its words, as a rule sees it.
type run struct {
	name  string
	args  []word
	span  span // all of it
	cmd   *command
	dir   string // where it runs; empty: not known
	d     dialect
	depth int
	fed   bool // by xargs: its last words come from a list
}

var (
	unreadable = rule{"unreadable", medium, "The rules could not read this command to its end: read it yourself with care."}
	hardToRead = rule{"obfuscated", high, "It is written so that it is hard to see what runs."}
	builtLater = rule{"obfuscated", high, "Which program runs is put together only when it runs."}
	forkBomb   = rule{"system", critical, "It starts itself again and again until the machine stops answering."}
)

// script judges a text as a shell script.
func (j *judge) script(src *source, d dialect, outer *scope, depth int) {
	if j.bytes -= len(src.text); j.bytes < 0 || depth > maxNesting {
		j.add(unreadable, span{src, 0, len(src.text)})
		return
	}
	if at := strings.Index(src.text, ":(){"); at >= 0 && d == posix {
		j.add(forkBomb, span{src, at, min(len(src.text), at+16)})
	}
	commands, bad := parse(src, d, &j.words, outer)
	followPipes(commands)
	for _, c := range commands {
		j.command(c, d, depth)
	}
	if bad >= 0 {
		j.add(unreadable, span{src, min(bad, len(src.text)), len(src.text)})
	}
}

// followPipes notes of every command who reads what it prints.
func followPipes(commands []*command) {
	for _, c := range slices.Backward(commands) {
		sends := downloads(c)
		for _, before := range c.from {
			before.reader = c
			before.sent = sends || c.sent
		}
	}
}

func (j *judge) command(c *command, d dialect, depth int) {
	for i := range c.assigns {
		w := &c.assigns[i]
		j.disguised(w)
		name, value, _ := strings.Cut(w.text, "=")
		if value != "" || len(w.subs) > 0 {
			j.assigned[strings.TrimSuffix(name, "+")] = true
		}
	}
	dir := j.current(c.scope)
	if len(c.words) > 0 {
		r := &run{cmd: c, dir: dir, d: d, depth: depth}
		j.start(r, c.words)
	}
	for i := range c.redirects {
		j.redirected(c, &c.redirects[i], dir)
	}
	if c.background {
		j.add(leftRunning, c.span)
	}
}

// start judges words as a program and its arguments.
func (j *judge) start(r *run, words []word) {
	for len(words) > 0 && r.depth > 0 && isAssignment(&words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	if r.depth++; r.depth > maxNesting {
		j.add(unreadable, words[0].span)
		return
	}
	program := &words[0]
	for i := range words {
		j.disguised(&words[i])
	}
	r.name, r.args = programName(program.text, r.d), words[1:]
	r.span = program.span.through(words[len(words)-1].span)
	switch {
	case len(program.subs) > 0 || strings.Contains(program.text, "$IFS") || strings.Contains(program.text, "${IFS"),
		program.bare && strings.HasPrefix(program.text, "{") && strings.Contains(program.text, ","),
		program.bare && strings.ContainsAny(program.text, "?*") && strings.Contains(program.text, "/"):
		j.add(builtLater, program.span)
		return
	case r.name == "for" || r.name == "select" || r.name == "read":
		for i := range r.args[:min(1, len(r.args))] {
			j.assigned[r.args[i].text] = true
		}
	}
	j.byBook(r)
	for _, judged := range programs[r.name] {
		judged(j, r)
	}
}

func (j *judge) disguised(w *word) {
	if w.disguise {
		j.add(hardToRead, w.span)
	}
}

// longestPath is more than any system starts a program by.
const longestPath = 4 << 10

// programName is what a program goes by, without its folder.
func programName(text string, d dialect) string {
	text = text[max(0, len(text)-longestPath):] // a word of a megabyte may be asked about at every depth
	if d != posix || len(text) > 2 && text[1] == ':' {
		text = strings.ToLower(strings.ReplaceAll(text, `\`, "/"))
	}
	name := strings.TrimSuffix(path.Base(text), ".exe")
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".bat")
	if rest, ok := strings.CutPrefix(name, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	if rest, ok := strings.CutPrefix(name, "pip"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "pip"
	}
	if strings.HasPrefix(name, "mkfs.") {
		return "mkfs"
	}
	return name
}

// has reports whether one of the options is given: -x alone or among others, or a
// long one, with or without =value.
func (r *run) has(short string, long ...string) *word {
	for i := range r.args {
		text := r.args[i].text
		switch {
		case text == "--":
			return nil
		case len(text) > 1 && text[0] == '-' && text[1] != '-':
			if strings.ContainsAny(text[1:], short) && isCluster(text) || slices.Contains(long, text) {
				return &r.args[i]
			}
		case strings.HasPrefix(text, "--"):
			if name, _, _ := strings.Cut(text, "="); slices.Contains(long, name) {
				return &r.args[i]
			}
		}
	}
	return nil
}

// word returns the argument that is one of the texts.
func (r *run) word(texts ...string) *word {
	for i := range r.args {
		if slices.Contains(texts, r.args[i].text) {
			return &r.args[i]
		}
	}
	return nil
}

// operands are the arguments that are no options. valued are the options whose
// value is the next word.
func (r *run) operands(valued ...string) []word {
	var list []word
	for i := 0; i < len(r.args); i++ {
		switch text := r.args[i].text; {
		case text == "--":
			return append(list, r.args[i+1:]...)
		case len(text) > 1 && text[0] == '-':
			if slices.Contains(valued, text) {
				i++
			}
		default:
			list = append(list, r.args[i])
		}
	}
	return list
}

// value returns what is given with one of the options, as a word of its own or
// behind =.
func (r *run) value(options ...string) *word {
	for i := range r.args {
		if slices.Contains(options, r.args[i].text) && i+1 < len(r.args) {
			return &r.args[i+1]
		}
		if name, rest, ok := strings.Cut(r.args[i].text, "="); ok && slices.Contains(options, name) && strings.HasPrefix(name, "-") {
			w := r.args[i]
			w.text = rest
			return &w
		}
	}
	return nil
}

// sub is the first operand of git, docker and their like, with what follows it.
func (r *run) sub(valued ...string) (name string, rest *run) {
	for i := 0; i < len(r.args); i++ {
		text := r.args[i].text
		if strings.HasPrefix(text, "-") {
			if slices.Contains(valued, text) {
				i++
			}
			continue
		}
		inner := *r
		inner.args = r.args[i+1:]
		return text, &inner
	}
	return "", r
}

// inner judges the arguments from i on as a command of their own.
func (j *judge) inner(r *run, i int) {
	if i >= 0 && i < len(r.args) {
		next := *r
		j.start(&next, r.args[i:])
	}
}

// text judges the text of a word as a script.
func (j *judge) text(r *run, w *word, d dialect) {
	if j.bytes < 0 {
		return
	}
	j.script(w.span.within(w.text), d, r.cmd.scope, r.depth+1)
}
