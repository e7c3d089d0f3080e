// Package codeowners reads CODEOWNERS files as GitHub documents them, and finds the owners of a path. A file with an
// error has no owners at all: who decides must not depend on a line that is guessed. It does no I/O.
package codeowners

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxBytes is GitHub's limit of a file.
const MaxBytes = 3 << 20

// Places are the paths of the file in a repository, in GitHub's order. The first one counts.
func Places() []string { return []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} }

// File is a parsed file.
type File struct{ rules []rule }

type rule struct {
	segments []string // of the pattern; ** is any number of folders
	isFolder bool     // the pattern ends with a slash: it matches only paths below
	isFlat   bool     // the pattern ends with /*: it matches nothing below
	owners   []string
}

// Parse parses the text of a file. The error names the first line that can't be read.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, errors.New("is larger than 3 MB")
	}
	if !utf8.Valid(text) {
		return nil, errors.New("is not UTF-8")
	}
	f := &File{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		words, err := splitLine(strings.TrimSpace(string(line)))
		if err == nil && len(words) > 0 {
			var parsed rule
			if parsed, err = parseRule(words); err == nil {
				f.rules = append(f.rules, parsed)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("has an error in line %d: %w", number, err)
		}
	}
	return f, nil
}

// splitLine returns the pattern and the owners of a line. A backslash keeps a space in the pattern.
func splitLine(line string) (words []string, err error) {
	for i := 0; i < len(line); {
		var word strings.Builder
		for ; i < len(line) && line[i] != ' ' && line[i] != '\t'; i++ {
			if line[i] == '#' && word.Len() == 0 {
				return words, nil // a comment
			}
			if line[i] == '\\' {
				if i++; i == len(line) || line[i] != ' ' && line[i] != '#' {
					return nil, errors.New("a backslash only keeps a space")
				}
				if line[i] == '#' {
					return nil, errors.New(`\# is no pattern`)
				}
			}
			word.WriteByte(line[i])
		}
		if word.Len() > 0 {
			words = append(words, word.String())
		}
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
	}
	return words, nil
}

func parseRule(words []string) (rule, error) {
	pattern := words[0]
	if strings.HasPrefix(pattern, "!") || strings.ContainsAny(pattern, "[]") {
		return rule{}, errors.New("! and [ ] have no meaning in a pattern")
	}
	for _, owner := range words[1:] {
		if name, isHandle := strings.CutPrefix(owner, "@"); name == "" || !isHandle && !strings.Contains(strings.Trim(owner, "@"), "@") {
			return rule{}, fmt.Errorf("%.100q is no owner: write @user, @org/team or a mail address", owner)
		}
	}
	parsed := rule{owners: words[1:], isFolder: strings.HasSuffix(pattern, "/"), isFlat: strings.HasSuffix(pattern, "/*")}
	isAnchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	for segment := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		if segment == "**" && len(parsed.segments) > 0 && parsed.segments[len(parsed.segments)-1] == "**" {
			continue
		}
		parsed.segments = append(parsed.segments, segment)
	}
	if !isAnchored {
		parsed.segments = slices.Insert(parsed.segments, 0, "**")
	}
	return parsed, nil
}

// Owners returns the owners of a path, which is relative to the repository and has slashes. The last rule that matches
// counts, also if it has no owners.
func (f *File) Owners(name string) []string {
	segments := strings.Split(name, "/")
	for _, r := range slices.Backward(f.rules) {
		if r.matches(segments) {
			return r.owners
		}
	}
	return nil
}

// Below returns the owners of each rule about a part of a folder, which its last rule may not know.
func (f *File) Below(folder string) (owners [][]string) {
	within := strings.Split(folder, "/")
	for _, r := range f.rules {
		isBelow := folder == "." || len(r.segments) > len(within) && slices.Equal(r.segments[:len(within)], within)
		if isBelow && len(r.owners) > 0 {
			owners = append(owners, r.owners)
		}
	}
	return owners
}

// matches reports whether the rule is about a path, or about a folder above it.
func (r *rule) matches(name []string) bool {
	if r.isFlat {
		return matchSegments(r.segments, name)
	}
	end := len(name)
	if r.isFolder {
		end--
	}
	for ; end > 0; end-- {
		if matchSegments(r.segments, name[:end]) {
			return true
		}
	}
	return false
}

// matchSegments matches all segments of a path. Only the last ** has to be tried again, as with the stars of a glob.
func matchSegments(pattern, name []string) bool {
	i, j, star, retry := 0, 0, -1, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, retry = i, j
			i++
		case i < len(pattern) && matchSegment(pattern[i], name[j]):
			i++
			j++
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

func matchSegment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
