package scripts_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link in Markdown: its target and its fragment.
var markdownLink = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)

// A document that is named by its path in the repository, with its fragment.
var documentPath = regexp.MustCompile(`(?:server/docs|\.github)/[\w./-]+\.md\b(?:#([\w-]+))?`)

// A code span that names a path of this repository.
var pathSpan = regexp.MustCompile("`((?:schema|agentclient|server|dashboard|scripts|\\.github)/[\\w./-]+)`")

// documents lists the Markdown files that people write, relative to the root.
func documents(t *testing.T) []string {
	files := sources(t, ".md")
	require.Contains(t, files, "README.md")
	require.Contains(t, files, ".github/CONTRIBUTING.md")
	return files
}

func TestDocuments_LinksResolve(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, link := range markdownLink.FindAllStringSubmatch(mask(string(read(t, file)), fencedCode), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			target := file // a link within the page
			if link[1] != "" {
				target = path.Join(path.Dir(file), link[1])
			}
			requireDocument(t, file, target, link[2])
		}
	}
}

// Comments and messages name documents, too.
func TestSources_NamedDocumentsExist(t *testing.T) {
	t.Parallel()
	files := append(sources(t, ".go", ".ts", ".js", ".mjs", ".svelte", ".css", ".sql", ".sh", ".yml", ".yaml", ".md"), "Makefile")
	found := 0
	for _, file := range files {
		for _, name := range documentPath.FindAllStringSubmatch(string(read(t, file)), -1) {
			found++
			target, _, _ := strings.Cut(name[0], "#")
			requireDocument(t, file, target, name[1])
		}
	}
	require.Greater(t, found, 15)
}

// requireDocument fails unless the target exists and, if it is Markdown, has a heading for the fragment.
func requireDocument(t *testing.T, file, target, fragment string) {
	t.Helper()
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
	require.NoError(t, err, "%s names %s", file, target)
	if fragment != "" && path.Ext(target) == ".md" {
		require.Contains(t, anchors(string(read(t, target))), fragment, "%s names a heading that %s does not have", file, target)
	}
}

var (
	heading     = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	notInAnchor = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// anchors returns the fragments of the headings of a document, as GitHub makes them.
func anchors(document string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(mask(document, fencedCode), -1) {
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
		for n, first := 1, anchor; slices.Contains(all, anchor); n++ {
			anchor = fmt.Sprintf("%s-%d", first, n)
		}
		all = append(all, anchor)
	}
	return all
}

func TestDocuments_PathsExist(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, span := range pathSpan.FindAllStringSubmatch(string(read(t, file)), -1) {
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(span[1])))
			require.NoError(t, err, "%s names %s", file, span[1])
		}
	}
}

func TestReadme_IsShort(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, strings.Count(string(read(t, "README.md")), "\n"), 160)
}

// The hub serves the comparison, too.
func TestComparison_IsTheSameInReadmeAndGuide(t *testing.T) {
	t.Parallel()
	table := regexp.MustCompile(`(?m)^\| \| Hookback \|.*\n(?:\|.*\n)+`)
	want := table.FindString(string(read(t, "README.md")))
	require.NotEmpty(t, want)
	require.Equal(t, want, table.FindString(string(read(t, "server/docs/guide/compare.md"))))
}

func TestGuide_PagesAreShort(t *testing.T) {
	t.Parallel()
	pages := 0
	for _, file := range documents(t) {
		if path.Dir(file) == "server/docs/guide" {
			pages++
			require.LessOrEqual(t, strings.Count(string(read(t, file)), "\n"), 160, "%s: split it", file)
		}
	}
	require.Greater(t, pages, 15)
}

func TestPackageMap_ListsEveryPackage(t *testing.T) {
	t.Parallel()
	out, err := goCommand("list", "./...")
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.NotEmpty(t, packages)
	list := string(read(t, "server/docs/package-map.md"))
	for _, p := range packages {
		name := strings.TrimPrefix(p, module+"/")
		require.Contains(t, list, "\n| `"+name+"` |", "server/docs/package-map.md does not list %s", name)
	}
}

// Every record is in the index once, and its heading is its name.
func TestDecisions_AreInIndex(t *testing.T) {
	t.Parallel()
	const folder = "server/docs/decisions"
	index := string(read(t, folder+"/README.md"))
	entries, err := fs.ReadDir(os.DirFS(root), folder)
	require.NoError(t, err)
	require.Greater(t, len(entries), 1)
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		page := anchors(string(read(t, folder+"/"+e.Name())))
		require.Greater(t, len(page), 1, "%s has no record", e.Name())
		require.Contains(t, index, "]("+e.Name()+")", "%s is not in the index", e.Name())
		for _, record := range page[1:] {
			require.Equal(t, 1, strings.Count(index, "]("+e.Name()+"#"+record+")"), "%s#%s is not in the index once", e.Name(), record)
		}
	}
}

// No sandbox separates an agent from its user. The README and the security guide state it.
func TestDocuments_StateTheBoundary(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"README.md", "server/docs/guide/security.md"} {
		require.Contains(t, string(read(t, file)), "an agent that runs as you, without a sandbox, can answer as you", file)
	}
}

// A shell block of the README names commands and flags that exist.
func TestReadme_CommandsExist(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile(`(?m)^(?:\w+=\$\()?hookback (\w+)|- run: hookback (\w+)|^make ([\w-]+)|go (?:run|install) (\./\S+)`)
	makefile := string(read(t, "Makefile"))
	for _, found := range commands.FindAllStringSubmatch(string(read(t, "README.md")), -1) {
		command, target, folder := found[1]+found[2], found[3], found[4]
		switch {
		case command != "":
			require.FileExists(t, filepath.Join(root, "agentclient/cmd/hookback/testdata/help/hookback-"+command+".txt"))
		case target != "":
			require.Contains(t, makefile, "\n"+target+":")
		default:
			require.DirExists(t, filepath.Join(root, strings.TrimRight(folder, "`,.")))
		}
	}
}

// The tag is the only version. The changelog announces it, and package.json has none.
func TestChangelog_NamesTheVersion(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?m)^## .*$`).FindString(string(read(t, "server/CHANGELOG.md")))
	require.Regexp(t, `^## \d+\.\d+\.\d+ – (unreleased|\d{4}-\d\d-\d\d)$`, heading)
	require.NotContains(t, string(read(t, "dashboard/package.json")), `"version"`)
}

// capabilities are the sentences with which the README leads, and the tests that prove each.
var capabilities = []struct {
	sentence string
	proofs   []string
}{
	{"Know what a yes does. Before you answer, the card states what the call does: " + `"` + exampleConsequence + `"`, []string{
		"`TestOf` in `agentclient/consequence`", "`TestHook_StatesConsequence` in `agentclient/cmd/hookback`",
		"`dashboard/e2e/request-detail.spec.ts`: shows what a call does right below it",
	}},
	{"The receipt signs it.", []string{"`TestVerify_ChecksConsequence` in `agentclient/receipt`"}},
	{`Ask and go on. "then": "later" lets the agent do other work.`, []string{"`TestLater_ModelContinuesAndRunsTheCallOnce` in `agentclient/e2e`"}},
	{"A yes runs exactly that call, once.", []string{"`TestHookLater_ApprovedCallRunsOnce` in `agentclient/cmd/hookback`"}},
	{"Owners decide. A rule leaves a call to the owners of the files that it changes.", []string{
		"`TestOwners_OnlyTheyDecide` in `server/internal/hub`", "`TestFileOwners_OfTouchedPaths` in `agentclient/internal/cli/hookrun`",
		"`TestBuildRequest_StatesOwnersAndQuorum` in `agentclient/internal/cli/hookrun`",
	}},
	{"An agent that edits CODEOWNERS in its working tree gains nothing.", []string{
		"`TestFileOwners_IgnoresWhatAgentWrites` in `agentclient/internal/cli/hookrun`",
	}},
	{"See what it did. After the call, the card shows the exit status and the output.", []string{
		"`TestCallResult_OfApprovedCall` in `server/hubtest`",
		"`dashboard/e2e/call-result.spec.ts`: shows that it runs, stops the session, and then shows what it did",
	}},
	{"A call that did something else than it announced is marked.", []string{"`TestCallResult_OfApprovedCall` in `server/hubtest`"}},
	{"While you were away. The page and hookback report sum up in at most eight lines.", []string{
		"`TestReport_LinesOfPreparedLog` in `server/hubtest`", "`TestReport_PrintsLines` in `agentclient/cmd/hookback`",
	}},
	{"Each number links to the rows that it counts.", []string{
		"`TestReport_NumbersAreRows` in `server/hubtest`",
		"`dashboard/e2e/away.spec.ts`: lists what happened, and each number is that of the rows behind its link",
	}},
}

// exampleConsequence is the result of a case of TestOf.
const exampleConsequence = "Removes 214 files, 38 MB; 9 of them are neither in git nor ignored and can't be restored."

// The README leads with these sentences and no others. Each point links to the guide.
func TestReadme_LeadsWithTestedSentences(t *testing.T) {
	t.Parallel()
	lead := regexp.MustCompile(`(?m)^- \*\*(?s:.*?)\n\n`).FindString(string(read(t, "README.md")))
	points := strings.Split(strings.TrimSpace(lead), "\n")
	require.Len(t, points, 5)
	for _, point := range points {
		require.Contains(t, point, "](server/docs/guide/")
	}
	var sentences []string
	for _, c := range capabilities {
		sentences = append(sentences, c.sentence)
		for _, proof := range c.proofs {
			require.True(t, isProof(t, proof), "%q is not a test in this repository", proof)
		}
	}
	plain := regexp.MustCompile(`\]\([^)]*\)|[\[*`+"`"+`]|(?m:^- )`).ReplaceAllString(strings.Join(points, " "), "")
	require.Equal(t, strings.Join(sentences, " "), strings.ReplaceAll(plain, " - ", " "))
	require.Contains(t, string(read(t, "agentclient/consequence/testdata/cases.txt")), "\n"+exampleConsequence+"\n")
}
