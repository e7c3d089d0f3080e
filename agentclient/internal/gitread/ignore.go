package gitread

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// maxPatterns limits the patterns of ignored files in one repository.
const maxPatterns = 5000

// Ignore has the patterns of ignored files that apply in a folder.
type Ignore struct {
	parent   *Ignore
	dir      string // where the patterns are, with a final slash; empty: the root
	patterns []pattern
	count    int
}

type pattern struct {
	text      string
	isNegated bool
	isDir     bool // only for folders
	isPath    bool // compared with the path below dir
	regex     *regexp.Regexp
}

// Ignored returns the patterns of the whole repository, in info/exclude. Those of the account are not read.
func (r *Repository) Ignored() (*Ignore, error) {
	text, err := r.text("info/exclude")
	if err != nil {
		return nil, err
	}
	return (&Ignore{}).with("", text), nil
}

// In returns the patterns in a folder, which is empty or has a final slash, with those of the folders above it.
func (r *Repository) In(above *Ignore, dir string) (*Ignore, error) {
	text, err := readIn(r.tree, dir+".gitignore", maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return above, nil
	}
	if err != nil {
		return nil, err
	}
	return above.with(dir, text), nil
}

func (g *Ignore) with(dir, text string) *Ignore {
	next := &Ignore{parent: g, dir: dir, count: g.count}
	for line := range strings.Lines(text) {
		if p, ok := newPattern(strings.TrimRight(line, "\r\n")); ok && next.count < maxPatterns {
			next.patterns = append(next.patterns, p)
			next.count++
		}
	}
	return next
}

func newPattern(line string) (p pattern, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.isNegated = strings.CutPrefix(line, "!")
	line, p.isDir = strings.CutSuffix(line, "/")
	line, isRooted := strings.CutPrefix(line, "/")
	p.text, p.isPath = line, isRooted || strings.Contains(line, "/")
	if strings.ContainsAny(line, `*?[\`) && !p.isSuffix() {
		regex, err := regexp.Compile(expression(line))
		if err != nil {
			return p, false
		}
		p.regex = regex
	}
	return p, line != ""
}

// isSuffix reports whether the pattern is *.go or similar.
func (p *pattern) isSuffix() bool {
	return !p.isPath && strings.HasPrefix(p.text, "*") && !strings.ContainsAny(p.text[1:], `*?[\`)
}

// expression returns the regular expression of a pattern. It is matched in linear time.
func expression(glob string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case rest == "/**":
			b.WriteString(`/.+`)
			i += 2
		case rest == "**" && i == 0:
			b.WriteString(`.*`)
			i++
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
		case rest[0] == '?':
			b.WriteString(`[^/]`)
		case rest[0] == '[' && strings.IndexByte(rest[1:], ']') > 0:
			end := 1 + strings.IndexByte(rest[1:], ']')
			class := strings.ReplaceAll(rest[1:end], `[`, `\[`)
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i += end
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String() + `\z`
}

// Match reports whether a path of the repository is ignored, if no folder above it is.
func (g *Ignore) Match(rel string, isDir bool) bool {
	for at := g; at != nil; at = at.parent {
		for i := len(at.patterns) - 1; i >= 0; i-- {
			if p := &at.patterns[i]; p.match(strings.TrimPrefix(rel, at.dir), isDir) {
				return !p.isNegated
			}
		}
	}
	return false
}

func (p *pattern) match(name string, isDir bool) bool {
	if p.isDir && !isDir {
		return false
	}
	if !p.isPath {
		name = path.Base(name)
	}
	switch {
	case p.regex != nil:
		return p.regex.MatchString(name)
	case p.isSuffix():
		return strings.HasSuffix(name, p.text[1:])
	default:
		return name == p.text
	}
}
