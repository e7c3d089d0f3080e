package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// maxOriginals limits the sessions that one was copied from.
const maxOriginals = 8

// OfSession returns the usage of a session by model, sorted by model, from its transcript at path, those of
// its subagents and those of the sessions that it was copied from. The first error is that of the transcript,
// or of ctx: a network file system may not answer. Without a path there is no usage.
func OfSession(ctx context.Context, path, id string) ([]schema.ModelUsage, error) {
	if path == "" {
		return nil, nil
	}
	type result struct {
		usage []schema.ModelUsage
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.usage, r.err = ofSession(ctx, path, id)
		done <- r
	}()
	select {
	case r := <-done:
		return r.usage, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Previous returns the transcript in the folder of path that was written last, except path; "" if there is none.
func Previous(path string) (previous string) {
	if path == "" {
		return ""
	}
	var latest time.Time
	entries, _ := os.ReadDir(filepath.Dir(path)) // none without a folder
	for _, entry := range entries {
		name := filepath.Join(filepath.Dir(path), entry.Name())
		info, err := entry.Info()
		if err == nil && name != path && filepath.Ext(name) == ".jsonl" && info.ModTime().After(latest) {
			previous, latest = name, info.ModTime()
		}
	}
	return previous
}

func ofSession(ctx context.Context, path, id string) ([]schema.ModelUsage, error) {
	b := NewBooks()
	if err := b.readFile(ctx, path, id, true); err != nil {
		return nil, err
	}
	_ = filepath.WalkDir(filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents"), func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".jsonl" {
			_ = b.readFile(ctx, name, id, false) // the others still count
		}
		return nil
	})
	originals := slices.Sorted(maps.Values(b.session(id).copied))
	originals = slices.Compact(originals)
	for _, original := range originals[:min(len(originals), maxOriginals)] {
		b.readOriginal(ctx, path, original)
	}
	byModel := map[string]schema.ModelUsage{}
	for _, u := range b.Of(id) {
		sum := byModel[u.Model]
		byModel[u.Model] = schema.ModelUsage{Model: u.Model, Tokens: sum.Tokens.Add(u.Tokens), CostUSD: sum.CostUSD + u.CostUSD}
	}
	return slices.SortedFunc(maps.Values(byModel), func(x, y schema.ModelUsage) int { return cmp.Compare(x.Model, y.Model) }), ctx.Err()
}

// readOriginal reads the transcript of a session that the one at path was copied from. It may be that of
// another project.
func (b *Books) readOriginal(ctx context.Context, path, id string) {
	if strings.ContainsAny(id, `/\:`) { // a line of a transcript names it
		return
	}
	projects := filepath.Dir(filepath.Dir(path))
	folders, _ := os.ReadDir(projects) // without the original, its requests count here
	for _, folder := range folders {
		_ = b.readFile(ctx, filepath.Join(projects, folder.Name(), id+".jsonl"), id, true)
	}
}

// readFile adds a file.
func (b *Books) readFile(ctx context.Context, name, owner string, isMain bool) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = b.Read(&contextReader{ctx, f}, owner, isMain)
	return errors.Join(err, f.Close())
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
