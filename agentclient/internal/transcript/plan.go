package transcript

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxPlan is the maximum size of a plan in bytes.
const maxPlan = 256 << 10

// Plan returns the plan of Claude Code's call of ExitPlanMode: that in the file, or the newest in the
// transcript, which must be of that file unless file is "". Files outside of the folders are not read: the model
// may have named them, and the text leaves the machine. Plan returns "" if there is none, or if it can't be read
// before ctx ends.
func Plan(ctx context.Context, folders []string, file, transcript string) string {
	return read(ctx, transcript, func(path string) string {
		return cmp.Or(readPlanFile(folders, file), newestPlan(folders, file, path))
	})
}

// newestPlan returns the plan of the newest line in the transcript that has one or names its file. If file is
// not "", only lines that name it count.
func newestPlan(folders []string, file, transcript string) string {
	for b := range backward(transcript) {
		if !bytes.Contains(b, []byte(`"ExitPlanMode"`)) && !bytes.Contains(b, []byte("plans")) && !bytes.Contains(b, []byte(`"planFilePath"`)) {
			continue
		}
		var l line
		if json.Unmarshal(b, &l) != nil || l.Sidechain {
			continue
		}
		if named, plan := l.plan(); named == file && file != "" || file == "" && named+plan != "" {
			return cmp.Or(readPlanFile(folders, named), plan)
		}
	}
	return ""
}

// plan returns the file of a plan that the line names, and the text that the line has of it.
func (l *line) plan() (file, text string) {
	if a := &l.Attachment; l.Type == "attachment" && a.PlanFilePath != "" {
		return a.PlanFilePath, strings.TrimSpace(a.PlanContent)
	}
	var blocks []struct {
		Name  string `json:"name"`
		Input struct {
			Plan         string `json:"plan"`
			PlanFilePath string `json:"planFilePath"`
			FilePath     string `json:"file_path"`
			Content      string `json:"content"` // of Write
		} `json:"input"`
	}
	if l.Type != "assistant" || json.Unmarshal(l.Message.Content, &blocks) != nil {
		return "", ""
	}
	for i := range blocks {
		in := &blocks[i].Input
		switch {
		case blocks[i].Name == "ExitPlanMode":
			return in.PlanFilePath, strings.TrimSpace(in.Plan)
		case isPlanFile(in.FilePath) && slices.Contains([]string{"Write", "Edit", "MultiEdit"}, blocks[i].Name):
			return in.FilePath, strings.TrimSpace(in.Content)
		}
	}
	return "", ""
}

// isPlanFile reports whether the file is in a folder named plans, such as ~/.claude/plans.
func isPlanFile(file string) bool {
	dir, name := filepath.Split(strings.ReplaceAll(file, `\`, "/"))
	return strings.HasSuffix(dir, "/plans/") && filepath.Ext(name) == ".md"
}

// readPlanFile returns the text of the file. It is "" if the file is not a regular one with Markdown in one of the
// folders, with links resolved.
func readPlanFile(folders []string, file string) string {
	if !filepath.IsAbs(file) {
		return ""
	}
	path, err := filepath.EvalSymlinks(file)
	if err != nil || filepath.Ext(path) != ".md" {
		return ""
	}
	for _, folder := range folders {
		root, err := os.OpenRoot(folder)
		if err != nil {
			continue
		}
		defer func() { _ = root.Close() }()
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			continue
		}
		if name, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(name) {
			return readMarkdown(root, name)
		}
	}
	return ""
}

func readMarkdown(root *os.Root, name string) string {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPlan {
		return ""
	}
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxPlan))
	if err != nil || !utf8.Valid(text) {
		return ""
	}
	return strings.TrimSpace(string(text))
}
