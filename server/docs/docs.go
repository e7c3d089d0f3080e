// Package docs renders the documents of this folder as HTML pages, for /docs of the hub. They are
// embedded, so they match the running version and need no network.
package docs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Path is the address of the index. A page is at Path/NAME, its Markdown at Path/NAME.md.
const Path = "/docs"

// repository is where links to files lead that the hub does not serve.
const repository = "https://github.com/hookback/hookback/blob/main/"

// folder is the path of this package in the repository.
const folder = "server/docs"

// ErrNoPage is returned for a name that no page has.
var ErrNoPage = errors.New("no such page")

//go:embed *.md guide/*.md page.tmpl
var files embed.FS

// A Group is a part of the index.
type Group struct {
	Title string
	Pages []*Page
}

// A Page is one document.
type Page struct {
	Name  string // in its address
	Title string // its first heading

	file     string // in this folder
	markdown []byte
	body     template.HTML
	sections []section
}

// groups are the index in its order: the file of each page, without .md.
var groups = []struct {
	title string
	files []string
}{
	{"Start", []string{"guide/quickstart", "guide/deploy", "guide/agents", "guide/import"}},
	{"Use", []string{"guide/inbox", "guide/policy", "guide/people", "guide/votes", "guide/reach"}},
	{"Ask from a program", []string{"guide/python", "guide/typescript", "guide/go", "guide/mcp", "guide/protocol"}},
	{"Operate", []string{"guide/configuration", "guide/proxy", "scale-out", "guide/backup", "guide/upgrade", "guide/troubleshooting", "guide/uninstall"}},
	{"About", []string{"guide/security", "guide/performance", "guide/compare"}},
	{"Development", []string{"architecture", "question-lifecycle", "glossary", "package-map", "extending", "dependencies", "benchmarks"}},
}

// A Site has all pages. Its methods may be called concurrently.
type Site struct {
	Groups []Group
	pages  map[string]*Page
	layout *template.Template
}

// Load renders the documents, once.
var Load = sync.OnceValues(load)

func load() (*Site, error) {
	layout, err := template.ParseFS(files, "page.tmpl")
	if err != nil {
		return nil, err
	}
	s := &Site{pages: map[string]*Page{}, layout: layout}
	for _, g := range groups {
		group := Group{Title: g.title}
		for _, name := range g.files {
			p := &Page{Name: path.Base(name), file: name + ".md"}
			if p.markdown, err = files.ReadFile(p.file); err != nil {
				return nil, err
			}
			group.Pages = append(group.Pages, p)
			s.pages[p.Name] = p
		}
		s.Groups = append(s.Groups, group)
	}
	for _, p := range s.pages {
		if err := s.render(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return s, nil
}

// Markdown returns the source of a page, or ErrNoPage.
func (s *Site) Markdown(name string) ([]byte, error) {
	p := s.pages[name]
	if p == nil {
		return nil, ErrNoPage
	}
	return p.markdown, nil
}

// A Result is a section that has all words of the query.
type Result struct {
	Page    *Page
	Title   string // of the section
	Address string
	Before  string // the text around the first word: before it, itself, and after it
	Match   string
	After   string

	rank int
}

// view is what page.tmpl shows.
type view struct {
	Groups  []Group
	Title   string
	Name    string // of the shown page; empty: none
	Body    template.HTML
	Query   string
	Results []Result
	Missing bool
}

// Page returns the HTML of a page, or the index and ErrNoPage. The index has an empty name.
func (s *Site) Page(name string) ([]byte, error) {
	v := view{Groups: s.Groups, Title: "Documentation", Name: name}
	if p := s.pages[name]; p != nil {
		v.Title, v.Body = p.Title, p.body
	} else {
		v.Name, v.Missing = "", name != ""
	}
	b, err := s.html(v)
	if err == nil && v.Missing {
		err = ErrNoPage
	}
	return b, err
}

func (s *Site) html(v view) ([]byte, error) {
	var b bytes.Buffer
	err := s.layout.Execute(&b, v)
	return b.Bytes(), err
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func (s *Site) render(p *Page) error {
	root := markdown.Parser().Parse(text.NewReader(p.markdown))
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			link.Destination = []byte(s.target(p, string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	removeImages(root)
	p.sections = sections(root, p.markdown)
	p.Title = p.sections[0].title
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.markdown, root); err != nil {
		return err
	}
	// What scrolls must be reachable with the keyboard.
	html := strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`).Replace(b.String())
	p.body = template.HTML(html) // #nosec G203 -- from this repository, and goldmark escapes markup
	return nil
}

// removeImages drops pictures: the hub does not serve them.
func removeImages(root ast.Node) {
	var images []ast.Node
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function does not fail
		if entering && n.Kind() == ast.KindImage {
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range images {
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// target returns the address of a link in page p: a page of the site, or a file of the repository.
func (s *Site) target(p *Page, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "/") {
		return link
	}
	name, fragment, found := strings.Cut(link, "#")
	if found {
		fragment = "#" + fragment
	}
	file := path.Join(path.Dir(p.file), name)
	for _, other := range s.pages {
		if other.file == file {
			return Path + "/" + other.Name + fragment
		}
	}
	return repository + path.Join(folder, file) + fragment
}

// Files lists the documents of this folder, for tests: each must be a page or the index.
func Files() ([]string, error) {
	top, err := fs.Glob(files, "*.md")
	guide, globErr := fs.Glob(files, "guide/*.md")
	return slices.Concat(top, guide), errors.Join(err, globErr)
}
