package docs

import (
	"cmp"
	"slices"
	"strings"
)

// maxResults bounds the results of a search, maxQuery the bytes of a query that count.
const (
	maxResults = 30
	maxQuery   = 200
)

// Search returns the sections that have all words of a query, matches in titles first.
func (s *Site) Search(query string) []Result {
	words := strings.Fields(strings.ToLower(query[:min(len(query), maxQuery)]))
	if len(words) == 0 {
		return nil
	}
	var found []Result
	for _, g := range s.Groups {
		for _, p := range g.Pages {
			for _, sec := range p.sections {
				if r, ok := sec.find(words); ok {
					r.Page, r.Address = p, Path+"/"+p.Name+"#"+sec.id
					found = append(found, r)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Result) int { return cmp.Compare(b.rank, a.rank) })
	return found[:min(len(found), maxResults)]
}

func (sec *section) find(words []string) (Result, bool) {
	r := Result{Title: sec.title}
	title := strings.ToLower(sec.title)
	for _, w := range words {
		if !strings.Contains(sec.folded, w) {
			return r, false
		}
		if strings.Contains(title, w) {
			r.rank++
		}
	}
	r.Before, r.Match, r.After = excerpt(sec.text, words[0])
	return r, true
}

// context is the number of bytes of an excerpt on each side of the word.
const context = 90

// excerpt returns the text around the first occurrence of a word, cut between words.
func excerpt(text, word string) (before, match, after string) {
	lower := strings.ToLower(text)
	at := strings.Index(lower, word)
	if at < 0 || len(lower) != len(text) { // only in the title, or a letter whose lower case has another length
		return cutAfter(text, 2*context), "", ""
	}
	before, match, after = text[:at], text[at:at+len(word)], text[at+len(word):]
	if len(before) > context {
		cut := before[len(before)-context:]
		if _, rest, ok := strings.Cut(cut, " "); ok {
			cut = rest
		}
		before = "… " + cut
	}
	return before, match, cutAfter(after, context)
}

// cutAfter cuts text at the last space within size bytes.
func cutAfter(text string, size int) string {
	if len(text) <= size {
		return text
	}
	if i := strings.LastIndexByte(text[:size], ' '); i > 0 {
		return text[:i] + " …"
	}
	return ""
}

// SearchPage returns the HTML of the results of a search.
func (s *Site) SearchPage(query string) ([]byte, error) {
	return s.html(view{Groups: s.Groups, Title: "Search", Query: query, Results: s.Search(query)})
}
