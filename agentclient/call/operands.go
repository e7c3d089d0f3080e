package call

import (
	"iter"
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
read: cksum diff cmp comm paste column source . bat batcat open xdg-open gzip gunzip zcat xz bzip2 zstd lz4 pigz zip unzip tar cpio
read skip: grep egrep fgrep zgrep rg ag ack jq yq awk gawk mawk sed gsed
write: setfacl tee touch truncate mkdir mkfifo mktemp vi vim nvim nano emacs ed
write skip: chmod chown chgrp
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
		l.outputs(name, cmd.Words[1:])
	}
	inPlace := programs.EditsInPlace(texts(cmd.Words))
	if inPlace {
		what, known = "write skip", true
	}
	if !known {
		return
	}
	words := cmd.Words[1:]
	if at := slices.Index(texts(words), "-P"); at >= 0 && at+1 < len(words) && strings.HasSuffix(name, "zip") {
		words = slices.Delete(slices.Clone(words), at, at+2) // a password
	}
	what, isScript := strings.CutSuffix(what, " skip")
	if isScript {
		words = l.withoutScripts(name, words, inPlace)
	}
	operands, values := operandsOf(words)
	for _, w := range values {
		op := FileOp(what)
		if what == "copy" || what == "move" {
			op = UseFile
		}
		l.addFile(w, op)
	}
	if len(operands) == 0 && (has(searchers, name) || name == "grep" && programs.HasOption(texts(cmd.Words), "r", "R", "recursive")) {
		l.listDir()
	}
	last := len(operands) - 1
	for _, target := range l.outputs(name, words) { // a directory gets all operands
		last = len(operands)
		if at := slices.IndexFunc(operands, func(w Word) bool { return w.Text == target.Text && w.Span == target.Span }); at >= 0 {
			operands = slices.Delete(operands, at, at+1)
		}
	}
	for i, w := range operands {
		op := FileOp(what)
		switch {
		case i == last && (what == "copy" || what == "move"):
			op = WriteFile
		case what == "copy":
			op = ReadFile
		}
		l.addFile(w, op)
	}
}

// withoutScripts returns the words of a program without its patterns and scripts, or its mode, and adds the files of
// those. Of a program that edits in place the names of copies are left out, too, as in -i.bak.
func (l *line) withoutScripts(name string, words []Word, inPlace bool) (rest []Word) {
	hasNoPattern := func(w Word) bool {
		return strings.HasPrefix(name, "ch") && isMode(w.Text) || name == "rg" && w.Text == "--files"
	}
	found := scriptsOf(name, words, !slices.ContainsFunc(words, hasNoPattern))
	for i, w := range words {
		_, isCode := found.code[i]
		isCode = isCode || name == "rg" && i > 0 && words[i-1].Text == "-g" && isExclusion(w.Text, "!")
		if found.unsure[i] {
			l.addMayBe(l.dir, w, ReadFile)
		}
		if file, isFile := found.files[i]; isFile {
			l.addFile(Word{Text: file, Dynamic: w.Dynamic, Span: w.Span}, ReadFile)
		} else if !isCode && (!inPlace || shortOption(w.Text, "i") == 0) {
			rest = append(rest, w)
		}
	}
	return rest
}

// scriptOptions are the short options of programs with a pattern or a script, or, f, with a file of them. After the
// bar are those with another value.
var scriptOptions = sync.OnceValue(func() map[string]string {
	return namesByKind(`
ef|ABCmdD: grep egrep fgrep zgrep
ef|ABCmgtTjMErd: rg
ef|l: sed gsed
feE|vFilo: awk gawk mawk nawk
eE|IMmCDF: perl
eE|ICFr: ruby
f|L: jq yq
c|WXmQ: python
ep|rC: node bun
rBRE|dcSzt: php
e|l: lua luajit
`)
})

// scripts are the words of a program with patterns or scripts, by index.
type scripts struct {
	code   map[int]string
	files  map[int]string
	unsure map[int]bool // the option before it may be the value of another one
}

// scriptsOf returns the patterns and scripts in the words of a program. With isFirst, its first operand is one if no
// option has one.
func scriptsOf(name string, words []Word, isFirst bool) scripts {
	s := scripts{map[int]string{}, map[int]string{}, map[int]bool{}}
	letters, values, _ := strings.Cut(scriptOptions()[name], "|")
	isSed, isAWK := strings.HasSuffix(name, "sed"), strings.HasSuffix(name, "awk")
	first, value := -1, -1 // value: a word that may be the value of the option before it
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		option, code, isAttached := strings.Cut(text, "=")
		isLong := func(names ...string) bool {
			return len(option) > 2 && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, option) })
		}
		at := shortOption(text, letters+values)
		if suffix := shortOption(text, "i"); isSed && suffix > 0 && suffix < at {
			at = 0 // it is part of the suffix of -i
		}
		into := s.code
		switch {
		case text == "--":
			if i+1 < len(words) && first < 0 {
				first = i + 1
			}
			i = len(words)
			continue
		case len(text) < 2 || text[0] != '-':
			if first < 0 {
				first = i
			}
			continue
		case letters == "":
			continue
		case isLong("--file", "--from-file"), isAWK && isLong("--exec"):
			into = s.files
		case isLong("--regexp", "--expression", "--source", "--eval", "--print"):
		case at == 0:
			isValue := isAWK && isLong("--assign", "--field-separator", "--include", "--load") || isSed && isLong("--line-length")
			if isValue && !isAttached {
				i++
			} else if strings.HasPrefix(text, "--") && !isAttached {
				value = i + 1
			}
			continue
		case strings.IndexByte(letters, text[at]) < 0:
			isNumber := isSed && i+1 < len(words) && strings.Trim(words[i+1].Text, "0123456789") == "" // sed of macOS has no value here
			if at == len(text)-1 && (isNumber || name == "rg" || isAWK && text[at] != 'o') {
				i++ // its value
			} else if at == len(text)-1 {
				value = i + 1
			}
			continue
		default:
			if code, isAttached = text[at+1:], at < len(text)-1; text[at] == 'f' || text[at] == 'E' && isAWK {
				into = s.files
			}
		}
		if isAttached {
			into[i] = code
		} else if i++; i < len(words) {
			into[i] = words[i].Text
			s.unsure[i] = value == i-1
		}
	}
	if isFirst && first >= 0 && len(s.code)+len(s.files) == 0 {
		s.code[first] = words[first].Text
	}
	return s
}

// isMode reports whether an option takes the place of the mode of chmod, as in chmod -x.
func isMode(option string) bool {
	return len(option) > 1 && option[0] == '-' && strings.Trim(option[1:], "rwxXst") == "" || strings.HasPrefix(option, "--ref")
}

// shortOption returns the index of the first of these short options in a cluster, or 0.
func shortOption(word, options string) int {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return 0
	}
	cluster := word[:len(word)-len(strings.TrimLeft(word, "-"+lettersAndDigits))]
	return max(0, strings.IndexAny(cluster, options))
}

// outputOptions are the options of programs that name the file or the directory that they write, and the short options
// with another value.
var outputOptions = map[string][3]string{
	"curl": {"o", "--output --output-dir"}, "wget": {"OP", "--output-document --directory-prefix"}, "sort": {"o", "--output"}, "tree": {"o", "--output"},
	"cp": {"t", "--target-directory", "S"}, "mv": {"t", "--target-directory", "S"}, "ln": {"t", "--target-directory", "S"},
	"install": {"t", "--target-directory", "gmoS"}, "strace": {"o", "--output"}, "ltrace": {"o", "--output"},
}

// outputs adds the files in the options of a program that name what it writes, and returns them.
func (l *line) outputs(name string, words []Word) (found []Word) {
	options, known := outputOptions[name]
	for i := 0; known && i < len(words) && words[i].Text != "--"; i++ {
		w := words[i]
		option, value, isAttached := strings.Cut(w.Text, "=")
		at := shortOption(w.Text, options[0]+options[2])
		if at > 0 && !strings.Contains(options[0], w.Text[at:at+1]) {
			if at == len(w.Text)-1 {
				i++ // its value
			}
			continue
		}
		switch isLong := len(option) > 3 && strings.Contains(" "+options[1], " "+option); {
		case isLong && isAttached:
			w.Text = value
		case at > 0 && at < len(w.Text)-1:
			w.Text = w.Text[at+1:]
		case (isLong || at > 0) && i+1 < len(words):
			w = words[i+1]
		default:
			continue
		}
		if found = append(found, w); w.Text != "-" {
			l.addFile(w, WriteFile)
		}
	}
	return found
}

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// searchers read the directory in which they run, if they have no operands.
const searchers = " ls dir tree du rg ag ack "

// isExclusion reports whether a word names files that a program leaves out. Below a directory with this name it is a path.
func isExclusion(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && !strings.Contains(text, "..")
}

// listDir adds the directory to which the line changed.
func (l *line) listDir() {
	if l.dir != "" && l.dir != l.c.Dir {
		l.addMayBe("", Word{Text: l.dir, Span: l.at}, ListFile)
	}
}

// fileName matches a name with an extension, which may be a file's.
var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w+@%][\w+@%.-]*\.[A-Za-z]\w{0,11}$`) })

// textOperands are programs whose operands are text, also if they look like files.
const textOperands = " cd echo printf test [ [[ export alias unset write-output write-host "

// wrappersWithFiles are wrappers whose options name files.
const wrappersWithFiles = " ssh dotenv docker podman nerdctl docker-compose podman-compose kubectl oc npx go cargo "

// bareOperands are programs whose operands may be files that look like names.
const bareOperands = " 7z 7za aws black code eslint fd fdfind gsutil jest prettier pytest rclone ruff vitest "

// likelyFiles adds the words of another program that look like files: with a slash, or the name of a
// hidden file. @name is a file of curl and others.
func (l *line) likelyFiles(name string, cmd *Command) {
	_, wraps := operandsBefore(name)
	if wraps && cmd.Shell == POSIX && programs.RunsCode(texts(cmd.Words)) && !has(wrappersWithFiles, name) {
		return // the command that it runs has them
	}
	if has(textOperands, name) && !(l.inWord && (name == "echo" || name == "printf")) {
		return
	}
	isStart := name == "find"
	if isStart && (len(cmd.Words) == 1 || strings.HasPrefix(cmd.Words[1].Text, "-")) || name == "fd" {
		l.listDir()
	}
	isPath := name == "for" || has(bareOperands, name) // or after -- of git
	for i, w := range cmd.Words[1:] {
		text := w.Text
		isSubcommand := i == 1 || i == 3 && cmd.Words[1].Text == "-C"
		isPath = isPath || name == "git" && i > 0 && cmd.Words[i].Text == "--" ||
			isSubcommand && has(" git:add git:rm git:mv git:restore git:archive docker:build docker:cp ", name+":"+cmd.Words[i].Text)
		if name == "git" && (isExclusion(text, ":!") || isExclusion(text, ":(exclude)")) {
			continue
		}
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
		if before, file, ok := strings.Cut(text, "@"); ok && !strings.Contains(before, "://") && has(" curl http https xh ", name) { // NAME@FILE
			text = file
		}
		if text = strings.TrimPrefix(strings.TrimLeft(text, "@<"), "fileb://"); isFileURI(text) {
			text = l.c.resolve(text)
		}
		for part := range strings.SplitSeq(w.Text, ",") { // of docker --mount
			if option, from, ok := strings.Cut(part, "="); ok && (option == "src" || option == "source") {
				l.addFile(Word{Text: from, Span: w.Span}, UseFile)
			}
		}
		before, _, isVolume := strings.Cut(text, ":")
		if isVolume && has(wrappersWithFiles, name) && before != "" && strings.Contains("./"+Expansion, before[:1]) {
			l.addFile(Word{Text: before, Span: w.Span}, UseFile)
		}
		if name == "find" && i > 0 && has(" -name -iname -path -ipath -wholename ", cmd.Words[i].Text) {
			l.addMayBe(l.dir, w, ListFile)
		}
		if _, file, ok := strings.Cut(text, ":"); ok && name == "git" {
			text = file // of a revision
		}
		isMessage := i > 0 && (cmd.Words[i].Text == "-m" || cmd.Words[i].Text == "-c" && name != "curl" ||
			cmd.Words[i].Text == "-e" && name != "dotenv" && !strings.HasPrefix(w.Text, "@"))
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

// Operands yields the words that are neither options nor values of options, with their indexes. valued are the
// options whose value is the next word.
func Operands(words []Word, valued ...string) iter.Seq2[int, *Word] {
	return func(yield func(int, *Word) bool) {
		ended := false
		for i := 0; i < len(words); i++ {
			switch text := words[i].Text; {
			case !ended && text == "--":
				ended = true
			case !ended && len(text) > 1 && text[0] == '-':
				if slices.Contains(valued, text) {
					i++
				}
			case !yield(i, &words[i]):
				return
			}
		}
	}
}

// OptionValue returns the value of the first of these options, as the next word or after =. Nil: none has one.
func OptionValue(words []Word, options ...string) *Word {
	for i, w := range words {
		name, value, isAttached := strings.Cut(w.Text, "=")
		switch {
		case !slices.Contains(options, name):
		case isAttached:
			w.Text = value
			return &w
		case i+1 < len(words):
			return &words[i+1]
		}
	}
	return nil
}

// operandsOf returns the words that are no options, and the values of --name=value and of -nPATH.
func operandsOf(words []Word) (operands, values []Word) {
	ended := false
	for _, w := range words {
		switch {
		case ended || len(w.Text) < 2 || w.Text[0] != '-':
			operands = append(operands, w)
		case w.Text == "--":
			ended = true
		default:
			_, value, ok := strings.Cut(w.Text, "=")
			if path := strings.TrimLeft(w.Text, "-"+lettersAndDigits); !ok && len(path) > 1 && strings.IndexByte("./~", path[0]) >= 0 {
				value, ok = path, true
			}
			if ok && !strings.HasPrefix(w.Text, "--exclude=") {
				values = append(values, Word{Text: value, Span: w.Span})
			}
		}
	}
	return operands, values
}
