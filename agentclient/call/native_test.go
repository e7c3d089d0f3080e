package call_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call"
)

// nativeTable is a file of testdata/native: every tool of an agent.
type nativeTable struct {
	Agent   string
	Version string
	Sources []string          // where the tools are defined
	Places  []string          // arguments that say where a tool works
	Aliases map[string]string // common names that rules have used so far, by tool
	Samples []nativeSample
}

// nativeSample is one operation of a tool and what a call of it does.
type nativeSample struct {
	Tool, Operation, Dir string
	Arguments            json.RawMessage
	Names                []string
	Commands             []string // words of the commands that the agent typed
	Files                []struct {
		Path string
		Op   call.FileOp
	}
	Hosts  []string
	Unread bool
}

// quietOperations touch no file, command or host.
var quietOperations = []string{
	"affects the agent", "affects the agent or the editor", "start a subagent", "start subagents", "search the web", "output of a command",
	"stop a command", "wait for output",
}

func nativeTables(t testing.TB) (tables []nativeTable) {
	names, err := filepath.Glob("testdata/native/*.json")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var table nativeTable
		require.NoError(t, json.Unmarshal(text, &table), name)
		require.Equal(t, strings.TrimSuffix(filepath.Base(name), ".json"), table.Agent)
		require.NotEmpty(t, table.Version, name)
		require.NotEmpty(t, table.Sources, name)
		tables = append(tables, table)
	}
	return tables
}

func (s nativeSample) read(agent string) *call.Call {
	return call.Read(call.Input{Agent: agent, Tool: s.Tool, Dir: s.Dir, Arguments: s.Arguments})
}

func TestRead_NativeTools(t *testing.T) {
	t.Parallel()
	for _, table := range nativeTables(t) {
		for _, s := range table.Samples {
			t.Run(table.Agent+"/"+s.Tool+"/"+s.Operation, func(t *testing.T) {
				t.Parallel()
				s.check(t, s.read(table.Agent))
			})
		}
	}
}

func (s nativeSample) check(t *testing.T, c *call.Call) {
	t.Helper()
	require.Equal(t, s.Names, append([]string{}, c.Names...))
	commands := []string{}
	for _, cmd := range c.Commands {
		if cmd.Depth > 0 {
			continue // of a script: the samples are about the tools
		}
		var words []string
		for _, w := range cmd.Words {
			words = append(words, w.Text)
		}
		commands = append(commands, strings.Join(words, " "))
	}
	require.Equal(t, s.Commands, commands)
	want, got := []string{}, []string{}
	for _, f := range s.Files {
		want = append(want, string(f.Op)+" "+f.Path)
	}
	for _, f := range c.Files {
		text := string(f.Op) + " " + f.Path
		isOperand := slices.ContainsFunc(c.Commands, func(cmd call.Command) bool {
			return cmd.Span.Pointer == f.Span.Pointer && cmd.Span.From <= f.Span.From && f.Span.To <= cmd.Span.To ||
				strings.HasPrefix(f.Span.Pointer, cmd.Span.Pointer+"/") // of a list
		})
		if slices.Contains(want, text) || !isOperand { // TestReadLine_Files is about the operands of commands
			got = append(got, text)
		}
	}
	require.Equal(t, want, got)
	hosts := []string{}
	for _, h := range c.Hosts {
		hosts = append(hosts, h.Name)
	}
	require.Equal(t, s.Hosts, hosts)
	require.Equal(t, s.Unread, len(c.Unread) > 0, "unread: %v", c.Unread)
}

// An operation on files has a file: a sample that expects none is a fault of the table.
func TestRead_NativeOperationsAreSeen(t *testing.T) {
	t.Parallel()
	isFileOperation := func(s nativeSample) bool {
		for _, word := range []string{"read", "write", "change", "delete", "list", "move", "append", "insert", "search"} {
			if strings.HasPrefix(s.Operation, word) && s.Operation != "search the web" {
				return true
			}
		}
		return false
	}
	for _, table := range nativeTables(t) {
		for _, s := range table.Samples {
			c := s.read(table.Agent)
			isSeen := len(c.Files)+len(c.Commands)+len(c.Hosts)+len(c.Unread) > 0
			switch name := table.Agent + " " + s.Tool + ": " + s.Operation; {
			case slices.Contains(quietOperations, s.Operation):
				require.False(t, isSeen, name)
			case isFileOperation(s):
				require.True(t, len(c.Files) > 0 || s.Unread || s.Operation == "read a remote resource" || s.Tool == "search_workspace_symbols", name)
			case strings.HasPrefix(s.Operation, "MCP") || strings.HasPrefix(s.Operation, "unknown tool"):
			default:
				require.True(t, isSeen, name)
			}
		}
	}
}

func TestRead_KnowsTheToolsOfEveryAgent(t *testing.T) {
	t.Parallel()
	tables := nativeTables(t)
	require.Len(t, tables, 13)
	for _, table := range tables {
		for tool, alias := range table.Aliases {
			i := slices.IndexFunc(table.Samples, func(s nativeSample) bool { return s.Tool == tool })
			require.GreaterOrEqual(t, i, 0, "%s %s has no sample", table.Agent, tool)
			require.Equal(t, []string{alias}, table.Samples[i].Names, "%s %s", table.Agent, tool)
		}
	}
}

// An agent can add a member that its tool ignores. The reading may then say more, but not less.
func TestRead_ExtraMemberHidesNothing(t *testing.T) {
	t.Parallel()
	tables := nativeTables(t)
	names := map[string]bool{"*": true, "-": true}
	for _, table := range tables {
		for _, s := range table.Samples {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(s.Arguments, &members)
			for name := range members {
				names[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = true
			}
		}
	}
	for _, table := range tables {
		t.Run(table.Agent, func(t *testing.T) {
			t.Parallel()
			for _, s := range table.Samples {
				rest, isObject := strings.CutPrefix(string(s.Arguments), "{")
				if !isObject || s.Unread {
					continue
				}
				if rest != "}" {
					rest = ", " + rest
				}
				want := everything(s.read(table.Agent), s.Dir)
				for name := range names {
					if slices.Contains(table.Places, name) {
						continue
					}
					for _, value := range []string{`"/tmp/decoy"`, `["x"]`, `{}`} {
						extra := s
						extra.Arguments = json.RawMessage(`{"` + name + `": ` + value + rest)
						c := extra.read(table.Agent)
						if len(c.Unread) == 0 {
							require.Subset(t, everything(c, s.Dir), want, "%s %s", s.Tool, extra.Arguments)
						}
					}
				}
			}
		})
	}
}

// everything returns what a call does, as text. dir is where a command runs if that is unknown.
func everything(c *call.Call, dir string) (all []string) {
	for _, cmd := range c.Commands {
		words := string(cmd.Shell) + " in " + cmp.Or(cmd.Dir, dir)
		for _, w := range cmd.Words {
			words += " " + w.Text
		}
		all = append(all, words)
	}
	for _, f := range c.Files {
		all = append(all, string(f.Op)+" "+f.Path)
	}
	for _, h := range c.Hosts {
		all = append(all, h.Name)
	}
	return append(all, c.Names...)
}

// A consumer of spans, such as the redaction, must find the text that they are about.
func TestRead_NativeSpansPointIntoTheArguments(t *testing.T) {
	t.Parallel()
	for _, table := range nativeTables(t) {
		for _, s := range table.Samples {
			c := s.read(table.Agent)
			var spans []call.Span
			for _, f := range c.Files {
				spans = append(spans, f.Span)
			}
			for _, h := range c.Hosts {
				spans = append(spans, h.Span)
			}
			for _, u := range c.Unread {
				spans = append(spans, u.Span)
			}
			for _, cmd := range c.Commands {
				spans = append(spans, cmd.Span)
			}
			for _, span := range spans {
				text, ok := at(t, s.Arguments, span.Pointer)
				require.True(t, ok, "%s %s: no %q in %s", table.Agent, s.Tool, span.Pointer, s.Arguments)
				require.LessOrEqual(t, span.From, span.To)
				require.LessOrEqual(t, span.To, len(text), "%s %s: %+v", table.Agent, s.Tool, span)
			}
		}
	}
}

// at returns the text at a JSON pointer, "" for a value that is no text, and whether there is a value.
func at(t *testing.T, text []byte, pointer string) (string, bool) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	for _, name := range strings.Split(pointer, "/")[1:] {
		switch parent := v.(type) {
		case map[string]any:
			if v = parent[name]; v == nil {
				return "", false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(parent) {
				return "", false
			}
			v = parent[i]
		default:
			return "", false
		}
	}
	found, _ := v.(string)
	return found, true
}

func TestRead_PathsAreAbsolute(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, path, want string }{
		{"/home/dev", "a/../.env", "/home/dev/.env"},
		{"/home/dev", "../../../../etc/passwd", "/etc/passwd"},
		{"/home/dev", "/a/./b/", "/a/b"},
		{"/home/dev", ".", "/home/dev"},
		{"/home/dev", "~/x/../.aws", "~/.aws"},
		{"/home/dev", "~/../eve/.env", "~/../eve/.env"},
		{"/home/dev", "~bob/.env", "~bob/.env"},
		{"/home/dev", "~.env", "/home/dev/~.env"},
		{"/home/dev", `sub\.env`, "/home/dev/sub/.env"},
		{"/home/dev", "file:///home/dev/a%20b/%2Eenv", "/home/dev/a b/.env"},
		{"/home/dev", "FILE:/etc/../.env", "/.env"},
		{"/home/dev", "file:///C:/Users/x/.env", "C:/Users/x/.env"},
		{"/home/dev", "file://host/share/.env", "//host/share/.env"},
		{"/home/dev", "vscode-vfs://github/o/r/.env", "vscode-vfs://github/o/r/.env"},
		{`C:\Users\dev`, `..\eve\.env`, "C:/Users/eve/.env"},
		{`C:\Users\dev`, `C:\..\..\.env`, "C:/.env"},
		{`\\host\share`, `x\.env`, "//host/share/x/.env"},
		{"", "./a/../.env", ".env"},
	} {
		arguments, err := json.Marshal(map[string]string{"file_path": test.path})
		require.NoError(t, err)
		c := call.Read(call.Input{Agent: "claude-code", Tool: "Read", Dir: test.dir, Arguments: arguments})
		require.Len(t, c.Files, 1, test.path)
		require.Equal(t, test.want, c.Files[0].Path, "%s in %s", test.path, test.dir)
	}
}

// An allow rule must match all names, so it doesn't allow a tool of another agent.
func TestRead_ToolOfUnknownAgentKeepsItsName(t *testing.T) {
	t.Parallel()
	arguments := json.RawMessage(`{"file_path": "/repo/.env"}`)
	require.Equal(t, []string{"Edit"}, call.Read(call.Input{Tool: "Edit", Arguments: arguments}).Names)
	require.Equal(t, []string{"Edit", "edit"}, call.Read(call.Input{Tool: "edit", Arguments: arguments}).Names)
	require.Equal(t, []string{"Edit"}, call.Read(call.Input{Agent: "opencode", Tool: "edit", Arguments: arguments}).Names)
}

func TestNameFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, pattern, want string }{
		{"mcp__*__delete_issue", "mcp__linear__delete_*", "mcp__linear__delete_issue"},
		{"mcp__*__delete_issue", "mcp__*delete*", "mcp__*__delete_issue"},
		{"mcp__*__delete_issue", "Bash", "mcp__*__delete_issue"},
		{"mcp__github__delete_issue", "mcp__linear__delete_*", "mcp__github__delete_issue"},
		{"mcp__github-mcp-se__get", "mcp__github-mcp-server__*", "mcp__github-mcp-server__get"},
		{"mcp__github-mcp__get", "mcp__github-mcp-server__*", "mcp__github-mcp__get"},
	} {
		require.Equal(t, test.want, call.NameFor(test.name, test.pattern), test.pattern)
	}
}

func TestRead_HostileArgumentsEnd(t *testing.T) {
	t.Parallel()
	repeat := func(before, middle, after string) string {
		return strings.Repeat(before, 90) + middle + strings.Repeat(after, 90)
	}
	for name, arguments := range map[string]string{
		"two names at every level":   repeat(`{"name":"tool_call","name":"tool_call","arguments":`, `{}`, `}`),
		"two inputs at every level":  repeat(`{"toolCalls":{"name":"x","args":`, `{}`, `,"args":{}}}`),
		"nested too deeply":          strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200),
		"many directories, patterns": `{"path":["` + strings.Repeat(`a","`, 5000) + `b"],"glob":["` + strings.Repeat(`a","`, 5000) + `b"]}`,
		"many names":                 `{"toolCalls":[` + strings.Repeat(`{"name":"a","name":"b","args":{}},`, 5000) + `{}]}`,
		"many variables":             `{"command":"a","env":{` + strings.Repeat(`"A":"b",`, 5000) + `"B":"c"}}`,
	} {
		for _, tool := range []string{"tool_call", "grep_search", "run_shell_command", "mcp__a__b"} {
			c := call.Read(call.Input{Agent: "qwen", Tool: tool, Dir: "/home/dev", Arguments: json.RawMessage(arguments)})
			require.Less(t, len(c.Files)+len(c.Commands)+len(c.Names)+len(c.Unread), 100_000, name)
			if tool == "tool_call" || name == "nested too deeply" {
				require.NotEmpty(t, c.Unread, "%s %s", tool, name)
			}
		}
	}
}

func FuzzRead_Arguments(f *testing.F) {
	for _, table := range nativeTables(f) {
		for _, s := range table.Samples {
			f.Add(table.Agent, s.Tool, s.Dir, []byte(s.Arguments))
		}
	}
	f.Fuzz(func(t *testing.T, agent, tool, dir string, arguments []byte) {
		c := call.Read(call.Input{Agent: agent, Tool: tool, Dir: dir, Arguments: arguments})
		if !json.Valid(arguments) && len(bytes.TrimSpace(arguments)) > 0 {
			require.NotEmpty(t, c.Unread)
		}
		for _, file := range c.Files {
			require.NotEmpty(t, file.Path)
			require.LessOrEqual(t, file.Span.From, file.Span.To)
		}
	})
}
