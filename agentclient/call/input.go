package call

import (
	"cmp"
	"slices"
	"strings"
)

// The code that a command reads from its standard input.

// xargsValues are the options of xargs that take the next word.
const xargsValues = " -a -d -E -I -J -L -n -P -R -S -s --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var "

// xargs reads the command of xargs with the words that it gets from its input.
func (l *line) xargs(cmd *Command) {
	words, mark := slices.Clone(cmd.Words[1:]), ""
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		option, value, _ := strings.Cut(words[0].Text, "=")
		if !strings.HasPrefix(option, "--") && len(option) > 2 && strings.Contains(option, "I") &&
			strings.Trim(option[1:strings.Index(option, "I")], "0prtx") == "" {
			option = "-I" + option[strings.Index(option, "I")+1:] // -0I{}
		}
		words = words[1:]
		if has(xargsValues, option) && len(words) > 0 && value == "" {
			value, words = words[0].Text, words[1:]
		}
		switch {
		case strings.HasPrefix(option, "-a") || len(option) > 2 && strings.HasPrefix("--arg-file", option):
			defer func(outer input) { l.stdin = outer }(l.stdin)
			l.stdin = input{} // the words are those of the file
			l.addFile(Word{Text: cmp.Or(value, strings.TrimPrefix(option, "-a")), Span: cmd.Span}, ReadFile)
		case option == "-I" || option == "-J" || option == "--replace" && value != "":
			mark = value
		case option == "-i" || option == "--replace":
			mark = "{}"
		case strings.HasPrefix(option, "-I"):
			mark = option[2:]
		}
		if option == "--" {
			break
		}
	}
	if len(words) == 0 { // echo
		return
	}
	l.likelyFiles("", &Command{Words: append([]Word{{}}, l.inputWords(cmd)...)})
	if mark == "" {
		words = append(words, l.inputWords(cmd)...)
	}
	for i := range words {
		if w := &words[i]; mark != "" && strings.Contains(w.Text, mark) {
			w.Text, w.Dynamic = strings.ReplaceAll(w.Text, mark, Expansion+"{}"), true // {}: also in a script
		}
	}
	l.command(words, cmd)
}

// inputWords returns the words in the standard input of a command: a word of unknown text if they are
// not known. Their place is empty, after the command.
func (l *line) inputWords(cmd *Command) (words []Word) {
	at := cmd.Words[len(cmd.Words)-1].Span
	at.From = at.To
	if l.stdin.kind == pipeInput && l.stdin.to == l.stdin.from+1 {
		all := texts(l.c.Commands[l.stdin.from].Words)
		if len(all) > 1 && all[0] == "find" && !strings.HasPrefix(all[1], "-") && !slices.Contains(all, "-printf") {
			return []Word{{Text: "./" + Expansion, Dynamic: true, Span: at}} // paths
		}
	}
	text, known := l.inputText()
	if !known || text.Dynamic || strings.ContainsAny(text.Text, `'"\`) {
		return []Word{{Text: Expansion, Dynamic: true, Splits: true, Span: at}}
	}
	for field := range strings.FieldsSeq(text.Text) {
		words = append(words, Word{Text: field, Span: at})
	}
	return words
}

// input reads the standard input of a shell.
func (l *line) input(cmd *Command) {
	outer := l.stdin
	l.stdin = input{} // of the commands in it
	switch outer.kind {
	case fileInput:
		l.scriptFile(outer.script, cmd)
	case hereInput:
		l.script(outer.script, cmd)
	case unknownInput:
		l.unread(cmd.Span, "a shell runs input that is known only at run time")
	case pipeInput:
		l.pipedFromAll(outer, cmd)
	}
	l.stdin = outer
}

// pipedFromAll reads what the commands before a pipe write to a shell. What several of them write
// without a line break is one text.
func (l *line) pipedFromAll(pipe input, shell *Command) {
	writers, parts := 0, false
	for i := pipe.from; i < pipe.to; i++ {
		w := &l.c.Commands[i]
		if len(w.Words) == 0 || has(quiet, w.Words[0].Text) {
			continue
		}
		writers++
		parts = parts || w.Words[0].Text == "printf" || len(w.Words) > 1 && strings.HasPrefix(w.Words[1].Text, "-")
	}
	if writers > 1 && parts || pipe.to-pipe.from > maxNesting {
		l.unread(shell.Span, "a shell runs the output of another command")
		return
	}
	for i := pipe.from; i < pipe.to; i++ {
		l.pipedFrom(&l.c.Commands[i], shell)
	}
}

// quiet are builtins without output.
const quiet = " cd true false : test [ export unset read local declare readonly typeset shift return exit trap set "

// pipedFrom reads the output of a command whose pipe a shell runs.
func (l *line) pipedFrom(writer, shell *Command) {
	if len(writer.Words) == 0 || has(quiet, writer.name()) {
		return
	}
	if text, known := output(writer); known {
		l.script(text, shell)
		return
	}
	l.unread(shell.Span, "a shell runs the output of another command")
}

// output returns the output of a command, if it is known.
func output(writer *Command) (text Word, known bool) {
	if len(writer.Words) == 0 {
		return text, false
	}
	words := writer.Words[1:]
	switch name := writer.name(); {
	case name == "echo":
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") && strings.Trim(words[0].Text, "-neE") == "" {
			words = words[1:]
		}
		text = join(words)
		return text, !strings.Contains(text.Text, `\`)
	case name == "printf" && len(words) > 1 && (words[0].Text == `%s\n` || words[0].Text == "%s" && len(words) == 2):
		text = join(words[1:])
		text.Text = strings.Join(texts(words[1:]), "\n")
		return text, true
	case name == "printf" && len(words) == 1:
		text = words[0]
		text.Text = strings.ReplaceAll(text.Text, `\n`, "\n")
		return text, !strings.ContainsAny(text.Text, `\%`)
	case name == "cat" && len(words) == 0:
		for i := range writer.Redirects {
			if r := &writer.Redirects[i]; strings.HasPrefix(r.Op, "<<") {
				return r.Target, true
			}
		}
	}
	return text, false
}
