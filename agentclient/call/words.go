package call

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// words returns the words that a word becomes: more than one with {a,b}.
func (l *line) words(w *syntax.Word) []Word {
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	if !syntax.SplitBraces(&split) {
		return []Word{l.word(w)}
	}
	expanded := l.braces(split.Parts)
	if l.c.expanded += len(expanded); expanded == nil || l.c.expanded > maxCommands { // a sequence, or too many
		one := l.word(w)
		one.Dynamic, one.Splits = true, true
		return []Word{one}
	}
	words := make([]Word, 0, len(expanded))
	for _, parts := range expanded {
		words = append(words, l.wordOf(&syntax.Word{Parts: parts}, l.spanOf(w)))
	}
	return words
}

// maxBraces is the number of words that one word may become.
const maxBraces = 64

// braces returns the alternatives of a word with {a,b}, or nil for a sequence such as {1..9}.
func (l *line) braces(parts []syntax.WordPart) [][]syntax.WordPart {
	all := [][]syntax.WordPart{nil}
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range all {
				all[i] = append(all[i], part)
			}
			continue
		}
		if brace.Sequence {
			return nil
		}
		var longer [][]syntax.WordPart
		for _, element := range brace.Elems {
			alternatives := l.braces(element.Parts)
			if alternatives == nil || len(alternatives)*len(all)+len(longer) > maxBraces {
				return nil
			}
			for _, head := range all {
				for _, tail := range alternatives {
					longer = append(longer, append(append([]syntax.WordPart(nil), head...), tail...))
				}
			}
		}
		all = longer
	}
	return all
}

// word returns a word without its quotes, and reads the commands in its substitutions.
func (l *line) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	return l.wordOf(w, l.spanOf(w))
}

func (l *line) wordOf(w *syntax.Word, at Span) Word {
	b := l.builder(Word{Span: at})
	for i, part := range w.Parts {
		b.part(part, i == 0, false)
	}
	return b.done()
}

func (l *line) builder(w Word) *wordBuilder {
	w.Subs.From = len(l.c.Commands)
	return &wordBuilder{line: l, word: w}
}

// wordBuilder collects the parts of a word.
type wordBuilder struct {
	*line
	word Word
	out  strings.Builder
}

func (b *wordBuilder) done() Word {
	b.word.Text = b.out.String()
	if b.word.Subs.To = len(b.c.Commands); b.word.Subs.To == b.word.Subs.From {
		b.word.Subs = Range{}
	}
	if b.word.IsQuoted && (strings.Contains(b.word.Text, "$(") || strings.Contains(b.word.Text, "`")) {
		b.quotesCode = true
	}
	if strings.Contains(b.word.Text, "[") && b.word.Text != "[" {
		b.namesIndex = true
	}
	return b.word
}

// body returns the text of a here-document. With a quoted delimiter nothing in it is special.
func (l *line) body(r *syntax.Redirect) Word {
	from, to := int(r.Hdoc.Pos().Offset()), int(r.Hdoc.End().Offset())      //nolint:gosec // at most maxLine
	to = from + strings.LastIndexByte(l.text[from:max(from, to)], '\n') + 1 // without the delimiter
	b := l.builder(Word{Span: l.span(from, to), IsQuoted: true})
	for _, part := range r.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok && isQuotedWord(r.Word) {
			b.out.WriteString(lit.Value)
		} else if ok {
			b.out.WriteString(bodyEscapes.Replace(lit.Value))
		} else {
			b.part(part, false, true)
		}
	}
	return b.done()
}

// bodyEscapes are the escapes of a here-document.
var bodyEscapes = strings.NewReplacer(`\\`, `\`, `\$`, "$", "\\`", "`", "\\\n", "")

func isQuotedWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// part adds a part of a word to its text.
func (b *wordBuilder) part(part syntax.WordPart, isFirst, isQuoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.literal(p.Value, isQuoted)
	case *syntax.SglQuoted:
		b.word.IsQuoted = true
		if p.Dollar {
			text, isEscaped := decodeANSI(p.Value)
			b.word.IsEscaped = b.word.IsEscaped || isEscaped
			b.out.WriteString(text)
		} else {
			b.out.WriteString(p.Value)
		}
	case *syntax.DblQuoted:
		b.word.IsQuoted = true
		for i, inner := range p.Parts {
			b.part(inner, isFirst && i == 0, true)
		}
	case *syntax.ParamExp:
		b.parameter(p, isFirst, isQuoted)
	case *syntax.CmdSubst:
		b.nested(p.Stmts)
		b.word.isMany = b.word.isMany || !isQuoted
		b.expand(isQuoted)
	case *syntax.ProcSubst:
		b.word.IsProcess = true
		outer := b.stdin
		if p.Op == syntax.CmdOut {
			b.stdin = input{kind: unknownInput}
		}
		b.nested(p.Stmts)
		b.stdin = outer
		b.expand(true)
	case *syntax.ArithmExp:
		b.word.Vars = append(b.word.Vars, Var{Name: "(("})
		b.evaluates = true
		b.expressions(p)
		b.expand(true)
	case *syntax.ExtGlob:
		b.word.Pattern = true
		b.out.WriteString(Expansion)
		b.word.Dynamic = true
		switch pattern := p.Pattern.Value; {
		case strings.ContainsAny(pattern, "`$"):
			b.unread(b.word.Span, "a pattern contains a substitution")
		case strings.ContainsAny(pattern, `'":{+`): // *(e:'rm x':)
			b.unread(b.word.Span, "zsh may run the end of a pattern")
		}
	default:
		b.expand(isQuoted)
	}
}

// expand adds text that is known only at run time.
func (b *wordBuilder) expand(isQuoted bool) {
	b.out.WriteString(Expansion)
	b.word.Dynamic = true
	b.word.Splits = b.word.Splits || !isQuoted
}

// parameter adds the value of a variable.
func (b *wordBuilder) parameter(p *syntax.ParamExp, isFirst, isQuoted bool) {
	isPlain := p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil &&
		!p.Excl && !p.Length && p.Names == 0 && p.NestedParam == nil
	if isPlain && p.Param != nil && b.substitute(p, isFirst, isQuoted) {
		return
	}
	if p.Param != nil {
		if value, ok := b.values[p.Param.Value]; ok { // ${FILE%.*}
			b.addMayBe(b.dir, value, UseFile)
		}
		b.word.Vars = append(b.word.Vars, b.variable(p))
	}
	if isPlain && p.Param != nil && isFirst && !b.assigned[p.Param.Value] {
		switch {
		case p.Param.Value == "HOME":
			b.out.WriteString("~")
			return
		case p.Param.Value == "PWD" && b.dir != "":
			b.out.WriteString(b.dir)
			return
		}
	}
	if p.Index != nil || p.Slice != nil || p.Excl {
		b.evaluates = true
	}
	if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") || p.Index != nil {
		b.word.isMany = true
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps {
		b.unread(b.word.Span, "an expansion may run the value of a variable") // ${x@P}
	}
	syntax.Walk(p, func(n syntax.Node) bool {
		if inner, ok := n.(*syntax.Word); ok {
			if w := b.line.word(inner); p.Exp != nil && inner == p.Exp.Word && !w.Dynamic && p.Exp.Op <= syntax.AssignUnsetOrNull {
				b.addMayBe(b.dir, w, UseFile) // ${x:-file}
			}
			return false
		}
		return true
	})
	b.expand(isQuoted)
}

// variable describes the variable of an expansion.
func (l *line) variable(p *syntax.ParamExp) Var {
	v := Var{Name: p.Param.Value, IsAssigned: l.assigned[p.Param.Value], IsTested: p.Length}
	hasName := strings.Trim(v.Name[:min(1, len(v.Name))], "0123456789@*#?$!-") != ""
	v.MayBeEmpty = hasName && !p.Length && p.Index == nil
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			v.IsTested = true
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			v.MayBeEmpty = false
		case syntax.DefaultUnsetOrNull:
			v.MayBeEmpty = v.MayBeEmpty && (p.Exp.Word == nil || len(p.Exp.Word.Parts) == 0)
		}
	}
	return v
}

// literal adds unquoted text, or text in double quotes, without its escapes.
func (b *wordBuilder) literal(value string, isQuoted bool) {
	if !isQuoted && (strings.Contains(value, "<(") || strings.Contains(value, ">(")) {
		b.unread(b.word.Span, "it starts a program inside of an expansion")
	}
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && i+1 < len(value) && isQuoted && strings.IndexByte("$`\"\\\n", value[i+1]) < 0:
			b.out.WriteByte(c)
		case c == '\\' && i+1 < len(value):
			i++
			if value[i] != '\n' {
				b.word.IsQuoted = true
				b.out.WriteByte(value[i])
			}
		case !isQuoted && strings.IndexByte("*?[", c) >= 0:
			b.word.Pattern = true
			b.out.WriteByte(c)
		default:
			b.out.WriteByte(c)
		}
	}
}

// decodeANSI decodes the escapes of $'…'. isEscaped reports whether a printable character is among them.
func decodeANSI(s string) (text string, isEscaped bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if plain, ok := ansiEscapes[s[i]]; ok {
			b.WriteByte(plain)
			continue
		}
		digits, base, from := 0, 16, i+1
		switch s[i] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			digits, base, from = 3, 8, i
		case 'c':
			if i+1 < len(s) {
				i++
				b.WriteByte(s[i] & 0x1f)
			}
			continue
		}
		if hasBrace := s[i] == 'x' && from < len(s) && s[from] == '{'; hasBrace { // \x{72}
			from, digits = from+1, 8
		}
		to := from
		for to < len(s) && to < from+digits && isDigitOf(s[to], base) {
			to++
		}
		n, err := strconv.ParseUint(s[from:to], base, 32)
		switch {
		case err != nil:
			b.WriteString(s[i-1 : i+1])
			continue
		case n == 0: // ends the string
			return b.String(), isEscaped
		case s[i] == 'u' || s[i] == 'U':
			b.WriteRune(rune(n))
		default:
			b.WriteByte(byte(n))
		}
		isEscaped = isEscaped || n >= ' ' && n < 0x7f
		if i = to - 1; digits == 8 && s[from-1] == '{' && to < len(s) && s[to] == '}' {
			i = to
		}
	}
	return b.String(), isEscaped
}

var ansiEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

func isDigitOf(c byte, base int) bool {
	return c >= '0' && c <= '7' || base == 16 && (c >= '8' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f')
}

// Written returns the text with the names of variables, as ${NAME}, if they are all that is unknown in it.
func (w Word) Written() string { return w.withVariables(w.Text) }

func (w Word) withVariables(text string) string {
	if strings.Count(text, Expansion) != len(w.Vars) {
		return text
	}
	for _, v := range w.Vars {
		if strings.Trim(v.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") != "" {
			return text
		}
		text = strings.Replace(text, Expansion, "${"+v.Name+"}", 1)
	}
	return text
}
