package call_test

import (
	"encoding/json"
	"testing"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/stretchr/testify/require"
)

func read(tool, arguments, dir string) *call.Call {
	return call.Read(call.Input{Tool: tool, Dir: dir, Arguments: json.RawMessage(arguments)})
}

func TestCall_CommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"Bash", `{"command":"ls"}`, "ls"},
		{"Bash", `{"timeout":5}`, ""},
		{"Bash", `{"script":"ls","command":"./x"}`, "./x"},
		{"Bash", `{"command":"ls","command":"./x"}`, "./x"},
		{"Bash", `{"command":"./x","COMMAND":"ls"}`, "./x"},
		{"Bash", `{"input":{"command":"ls"},"cmd":"./x"}`, "./x"},
		{"shell", `{"command":"rm","args":["-rf","a b"]}`, "rm -rf 'a b'"},
		{"shell", `{"command":["bash","-lc","ls; id"]}`, "bash -lc 'ls; id'"},
		{"run_commands", `{"commands":["ls","id"]}`, "ls\nid"},
	} {
		require.Equal(t, c.want, read(c.tool, c.arguments, "/p").CommandLine(), c.arguments)
	}
}

func TestCall_MainFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments string
		want            []string
	}{
		{"Read", `{"file_path":"a"}`, []string{"/p/a"}},
		{"Write", `{"File_Path":"a","file_path":"b"}`, []string{"/p/b"}},
		{"Write", `{"file_path":"a","file_path":"b"}`, []string{"/p/b"}},
		{"Write", `{"destination":"a","file_path":"b"}`, []string{"/p/b"}},
		{"read_files", `{"paths":["a","b"]}`, []string{"/p/a", "/p/b"}},
		{"edit_files", `{"files":[{"path":"a"},{"path":"b"}]}`, []string{"/p/a", "/p/b"}},
		{"Bash", `{}`, nil},
	} {
		var paths []string
		for _, f := range read(c.tool, c.arguments, "/p").MainFiles(func(*call.File) bool { return true }) {
			paths = append(paths, f.Path)
		}
		require.Equal(t, c.want, paths, c.arguments)
	}
}

func TestCall_TextAt(t *testing.T) {
	t.Parallel()
	c := read("Bash", `{"a/b":[{"~":"x"}],"command":"one","command":"two; id"}`, "/p")
	require.Equal(t, "x", c.TextAt(call.Span{Pointer: call.PointerTo("a/b", "0", "~")}))
	require.Equal(t, "id", c.TextAt(call.Span{Pointer: "/command", From: 5, To: 7}))
	require.Equal(t, "two; id", c.TextAt(call.Span{Pointer: "/command"}))
	for _, pointer := range []string{"", "/none", "/command/0", "/a~1b", call.LongPointer} {
		require.Empty(t, c.TextAt(call.Span{Pointer: pointer}), pointer)
	}
	require.Empty(t, call.ReadLine("ls", call.POSIX).TextAt(call.Span{Pointer: "/command"}))
}

func TestWordsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, text, dir string
		want            []string // nil: not simple
	}{
		{"Bash", "ls a^b", "/p", []string{"ls", "a^b"}},
		{"Bash", "ls a^b", `C:\p`, nil},
		{"Bash", `ls a\b`, `C:\p`, nil},
		{"PowerShell", "ls a%b", "/p", nil},
		{"cmd", "dir a", "/p", []string{"dir", "a"}},
		{"mcp__shell__run", "ls; id", "/p", nil},
	} {
		words, ok := call.WordsOf(c.tool, c.text, c.dir)
		require.Equal(t, c.want != nil, ok, c.text)
		if ok {
			require.Equal(t, c.want, words)
		}
	}
}

// TestRead_DirOfCall: without an agent a directory of a shell tool is the one that the call names.
func TestRead_DirOfCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, dir, want string }{
		{"Bash", `{"command":"ls","workdir":"web"}`, "/home/dev/shop", "/home/dev/shop/web"},
		{"Bash", `{"command":"ls","cwd":"../bank"}`, "/home/dev/shop", "/home/dev/bank"},
		{"Bash", `{"command":"ls","cwd":"/etc"}`, "/home/dev/shop", "/etc"},
		{"Write", `{"file_path":"x","cwd":"/etc"}`, "/home/dev/shop", "/home/dev/shop"},
	} {
		require.Equal(t, c.want, read(c.tool, c.arguments, c.dir).Dir, c.arguments)
	}
}

func TestReadsFiles(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]bool{
		"Read": true, "grep_search": true, "Glob": true, "LS": true, "codebase_search": true, "search": false, "Search": false,
		"Write": false, "WebFetch": false, "mcp__x__read": false, "": false, "memory": false,
	} {
		require.Equal(t, want, call.ReadsFiles(tool), tool)
	}
}
