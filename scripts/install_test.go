package scripts_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

const releaseVersion = "v0.0.1"

// program is a stranger's first program.
const program = `package main

import (
	"context"
	"fmt"
	"github.com/hookback/hookback/agentclient"
)

func main() {
	d, err := agentclient.New(agentclient.Options{KnownHubs: "known_hubs"}).AskPermission(context.Background(), "May I delete ./build?")
	fmt.Println(d.Approved(), err)
}
`

// go install VERSION refuses a module with a replace directive.
func TestModule_ReplacesNothing(t *testing.T) {
	t.Parallel()
	require.NotRegexp(t, `(?m)^\s*(replace|exclude)\b`, string(read(t, "go.mod")))
}

// Users read the whole documentation of the library. A type of an internal package shows nothing there.
func TestGoDoc_NamesNothingInternal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"agentclient", "agentclient/policy", "agentclient/receipt"} {
		text, err := goCommand("doc", "-all", "./"+name)
		require.NoError(t, err, name)
		require.NotContains(t, string(text), "internal/", name)
		aliases := regexp.MustCompile(`(?m)^type .* = .*`).FindAllString(string(text), -1)
		require.Subset(t, []string{"type ToolCall = policy.Call"}, aliases, name)
	}
}

// TestModule_InstallsFromProxy publishes this tree on a module proxy of files. A stranger gets the
// library and both commands from there, and nothing else of the repository.
func TestModule_InstallsFromProxy(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKBACK_MODULE") == "" {
		t.Skip("run with make module")
	}
	dir := t.TempDir()
	run := goFromProxy(t, dir)
	require.LessOrEqual(t, strings.Count(program, "\n"), 12)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	run("go", "mod", "init", "example.com/stranger")
	run("go", "get", module+"/agentclient@"+releaseVersion)
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(sums, []byte("\n")), 10, "%s", sums)
	run("go", "build", "-o", "stranger", ".")

	hub := hubtest.Start(t)
	answered := make(chan error, 1)
	go func() { answered <- hub.Answer(t.Context(), schema.Response{Permission: new(true)}) }()
	require.Equal(t, "true <nil>\n", run("env", "HOOKBACK_URL="+hub.URL(), "./stranger"))
	require.NoError(t, <-answered)

	for _, command := range []string{"agentclient/cmd/hookback", "server/cmd/hookback-server"} {
		run("go", "install", module+"/"+command+"@"+releaseVersion)
		require.Contains(t, run(filepath.Join(dir, "bin", path.Base(command)), "--version"), strings.TrimPrefix(releaseVersion, "v"))
	}
}

// goFromProxy returns a function that runs a command in dir. Its Go gets this module from a proxy
// in dir, and other modules from the module cache of this machine, else from its proxy.
func goFromProxy(t *testing.T, dir string) func(name string, args ...string) string {
	t.Helper()
	versions := filepath.Join(dir, "proxy", filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o700))
	for name, content := range map[string][]byte{
		"list": []byte(releaseVersion + "\n"), releaseVersion + ".info": []byte(`{"Version":"` + releaseVersion + `"}`),
		releaseVersion + ".mod": read(t, "go.mod"), releaseVersion + ".zip": moduleZip(t),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), content, 0o600))
	}
	values, err := goCommand("env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, upstream, _ := strings.Cut(strings.TrimSpace(string(values)), "\n")
	environment := append(os.Environ(),
		"GOPROXY=file://"+filepath.Join(dir, "proxy")+",file://"+filepath.Join(cache, "cache", "download")+","+upstream,
		"GOMODCACHE="+filepath.Join(dir, "mod"), "GOBIN="+filepath.Join(dir, "bin"),
		"GOFLAGS=-trimpath -modcacherw", "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0")
	return func(name string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		var errors strings.Builder
		cmd.Dir, cmd.Env, cmd.Stderr = dir, environment, &errors
		out, err := cmd.Output()
		require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), errors.String())
		return string(out)
	}
}

// moduleZip returns the module as a proxy serves it: without folders that are modules themselves.
func moduleZip(t *testing.T) []byte {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	files := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	var nested []string
	for _, name := range files {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			nested = append(nested, path.Dir(name)+"/")
		}
	}
	var text bytes.Buffer
	archive := zip.NewWriter(&text)
	for _, name := range files {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		isNested := slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(name, dir) })
		if err != nil || !info.Mode().IsRegular() || isNested {
			continue // deleted but not committed, or a link
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: module + "@" + releaseVersion + "/" + name, Method: zip.Deflate})
		require.NoError(t, err)
		_, err = io.Copy(w, bytes.NewReader(read(t, name)))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return text.Bytes()
}
