package call

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// fileOperands are the programs whose operands are files, by what they do with them. After "skip:", the
// first operand of a program is none, but a pattern, a script or a mode.
var fileOperands = sync.OnceValue(func() map[string]string {
	return namesByKind(`
read: cat tac head tail less more wc stat file od xxd hexdump strings sort uniq cut nl fold base64 base32 md5sum sha1sum sha256sum sha512sum
read: cksum diff cmp comm paste column source . bat batcat open xdg-open gzip gunzip zcat xz bzip2 zip unzip tar cpio
read skip: grep egrep fgrep zgrep rg ag ack jq yq awk gawk mawk sed gsed
write: tee touch truncate mkdir mkfifo mktemp vi vim nvim nano emacs ed
write skip: chmod chown chgrp setfacl
delete: rm rmdir unlink shred
move: mv rename
copy: cp ln install rsync scp
list: ls tree du dir
`)
})

// operandFiles adds the files in the operands of a command.
func (l *line) operandFiles(name string, cmd *Command) {
	if name == "dd" {
		for _, w := range cmd.Words[1:] {
			for prefix, op := range map[string]FileOp{"if=": ReadFile, "of=": WriteFile} {
				if p, ok := strings.CutPrefix(w.Text, prefix); ok {
					l.addFile(Word{Text: p, Span: w.Span}, op)
				}
			}
		}
		return
	}
	what, known := fileOperands()[name]
	if !known {
		l.likelyFiles(name, cmd)
		return
	}
	words := cmd.Words[1:]
	if at := slices.Index(texts(words), "-P"); at >= 0 && at+1 < len(words) && strings.HasSuffix(name, "zip") {
		words = slices.Delete(slices.Clone(words), at, at+2) // a password
	}
	operands, values, inPlace := operandsOf(words)
	what, skips := strings.CutSuffix(what, " skip")
	for _, w := range values {
		op := FileOp(what)
		if what == "copy" {
			op = UseFile
		}
		l.addFile(w, op)
	}
	if skips && len(operands) > 0 {
		if all := texts(cmd.Words); slices.Contains(all, "-f") || slices.Contains(all, "--file") { // which has the pattern
			l.addMayBe(l.dir, operands[0], ReadFile)
		}
		operands = operands[1:]
	}
	if len(operands) == 0 && (has(searchers, name) || name == "grep" && programs.HasOption(texts(cmd.Words), "r", "R", "recursive")) {
		l.listDir()
	}
	for i, w := range operands {
		op := FileOp(what)
		switch {
		case what == "copy" && i == len(operands)-1, what == "move" && i == len(operands)-1, inPlace && strings.HasSuffix(name, "sed"):
			op = WriteFile
		case what == "copy":
			op = ReadFile
		}
		l.addFile(w, op)
	}
}

// searchers read the directory in which they run, if they have no operands.
const searchers = " ls dir tree du rg ag ack "

// listDir adds the directory to which the line changed.
func (l *line) listDir() {
	if l.dir != "" && l.dir != l.c.Dir {
		l.addMayBe("", Word{Text: l.dir, Span: l.at}, ListFile)
	}
}

// fileName matches a name with an extension, which may be a file's.
var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w+@%][\w+@%.-]*\.[A-Za-z]\w{0,11}$`) })

// textOperands are programs whose operands are text, also if they look like files.
const textOperands = " cd echo printf test [ [[ export alias set unset "

// wrappersWithFiles are wrappers whose options name files.
const wrappersWithFiles = " ssh dotenv docker podman nerdctl docker-compose podman-compose kubectl oc npx go cargo "

// likelyFiles adds the words of another program that look like files: with a slash, or the name of a
// hidden file. @name is a file of curl and others.
func (l *line) likelyFiles(name string, cmd *Command) {
	if _, wraps := operandsBefore(name); wraps && programs.RunsCode(texts(cmd.Words)) && !has(wrappersWithFiles, name) {
		return // the command that it runs has them
	}
	if has(textOperands, name) && !(l.inWord && (name == "echo" || name == "printf")) {
		return
	}
	isStart := name == "find"
	if isStart && (len(cmd.Words) == 1 || strings.HasPrefix(cmd.Words[1].Text, "-")) || name == "fd" {
		l.listDir()
	}
	isPath := false // after -- of git
	for i, w := range cmd.Words[1:] {
		text := w.Text
		isPath = isPath || name == "git" && i > 0 && cmd.Words[i].Text == "--"
		if isStart = isStart && !strings.HasPrefix(text, "-") && text != "(" && text != "!"; isStart {
			l.addFile(w, ListFile)
			continue
		}
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		isShort := len(text) > 2 && text[0] == '-' && text[1] != '-'
		if isShort && (strings.IndexByte("@./~", text[2]) >= 0 || fileName().MatchString(text[2:])) { // -d@file, -I../x
			text = text[2:]
		}
		if text = strings.TrimPrefix(text, "@"); isFileURI(text) {
			text = l.c.resolve(text)
		}
		for part := range strings.SplitSeq(w.Text, ",") { // of docker --mount
			if option, from, ok := strings.Cut(part, "="); ok && (option == "src" || option == "source") {
				l.addFile(Word{Text: from, Span: w.Span}, UseFile)
			}
		}
		before, _, isVolume := strings.Cut(text, ":")
		if isVolume && has(wrappersWithFiles, name) && (strings.HasPrefix(before, "/") || strings.HasPrefix(before, ".")) {
			l.addFile(Word{Text: before, Span: w.Span}, UseFile)
		}
		if name == "find" && i > 0 && has(" -name -iname -path -ipath -wholename ", cmd.Words[i].Text) {
			l.addMayBe(l.dir, w, ListFile)
		}
		if _, file, ok := strings.Cut(text, ":"); ok && name == "git" {
			text = file // of a revision
		}
		isMessage := i > 0 && (cmd.Words[i].Text == "-m" || cmd.Words[i].Text == "-c" || cmd.Words[i].Text == "-e" && name != "dotenv")
		isHidden := len(text) > 1 && text[0] == '.' && text[1] != '.' && text[1] != '/'
		switch {
		case strings.ContainsAny(text, " \n") || strings.Contains(text, "://") || w.Dynamic || i > 0 && cmd.Words[i].Text == "-m":
		case (isHidden || strings.Contains(text, "/")) && !isMessage:
			l.addFile(Word{Text: text, Span: w.Span}, UseFile)
		case isPath, fileName().MatchString(text) && text != "process.env" && text != "import.meta.env": // expressions in JavaScript
			l.addMayBe(l.dir, Word{Text: text, Span: w.Span}, UseFile)
		}
	}
}

// operandsOf returns the words that are no options, the values of --name=value, and whether there is an
// option -i.
func operandsOf(words []Word) (operands, values []Word, inPlace bool) {
	ended := false
	for _, w := range words {
		switch {
		case ended || len(w.Text) < 2 || w.Text[0] != '-':
			operands = append(operands, w)
		case w.Text == "--":
			ended = true
		default:
			inPlace = inPlace || w.Text == "--in-place" || strings.HasPrefix(w.Text, "-i")
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				values = append(values, Word{Text: value, Span: w.Span})
			}
		}
	}
	return operands, values, inPlace
}
