package oversight

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/paths"
)

var (
	//go:embed hookback.txt
	clientCalls string
	//go:embed hookback-server.txt
	serverCalls string
)

const (
	client = "hookback"
	server = "hookback-server"
)

// readingCalls has the patterns of calls that only read, by program and command. A command without
// any has no patterns; one that is missing is of another version.
var readingCalls = map[string]map[string][]callPattern{client: parseCalls(clientCalls), server: parseCalls(serverCalls)}

// callPattern matches the words after a command.
type callPattern struct {
	words    [][]string // alternatives, in order
	open     bool       // more words may follow
	excluded []string   // names of flags that must not be among them
}

func parseCalls(table string) map[string][]callPattern {
	calls := map[string][]callPattern{}
	for line := range strings.Lines(table) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		calls[name] = nil
		for part := range strings.SplitSeq(rest, ";") {
			var p callPattern
			for _, w := range strings.Fields(part) {
				flag, excludes := strings.CutPrefix(w, "!")
				switch {
				case excludes:
					p.excluded = append(p.excluded, flag)
				case w == "…":
					p.open = true
				case w != ".":
					p.words = append(p.words, strings.Split(w, "|"))
				}
			}
			if strings.TrimSpace(part) != "" {
				calls[name] = append(calls[name], p)
			}
		}
	}
	return calls
}

func (p *callPattern) matches(args []string) bool {
	if len(args) < len(p.words) || len(args) > len(p.words) && !p.open {
		return false
	}
	for i, alternatives := range p.words {
		if !slices.Contains(alternatives, args[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(args[len(p.words):], func(w string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		return strings.HasPrefix(w, "-") && slices.Contains(p.excluded, name)
	})
}

// Program returns the program of Hookback that a word names, with or without a path, an extension or a
// version, as in go run and npx. It returns an empty string for other words.
func Program(word string) string {
	word, _, _ = strings.Cut(word[max(0, len(word)-paths.MaxLength):], "@")
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
	if name == client || name == server {
		return name
	}
	return ""
}

// Reads reports whether a call of a program of Hookback can neither change, skip nor answer the requests
// for approval. A call that is not known to read does not.
func Reads(program string, args []string) bool {
	if program == client && len(args) > 0 && args[0] == "server" {
		program, args = server, args[1:]
	}
	if len(args) == 0 {
		return program == client // prints its usage
	}
	if len(args) == 1 && slices.Contains([]string{"help", "-h", "-help", "--help", "-version", "--version", "status"}, args[0]) {
		return true
	}
	command := args[0]
	if strings.HasPrefix(command, "--") {
		command = command[1:]
	}
	if program == client && len(args) == 2 && slices.Contains([]string{"-h", "-help", "--help"}, args[1]) && IsCommand(program, command) {
		return true
	}
	return slices.ContainsFunc(readingCalls[program][command], func(p callPattern) bool { return p.matches(args[1:]) })
}

// IsCommand reports whether a word is a command of a program of Hookback.
func IsCommand(program, word string) bool {
	_, known := readingCalls[program][word]
	return known
}

// RunsHookback reports whether code or a command line in another program's words runs a call of Hookback
// that does not only read.
func RunsHookback(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`,;()[]{}$", r) })
	for i := range words {
		program, rest := Program(words[i]), words[i+1:min(len(words), i+9)]
		if program != "" && len(rest) > 0 && IsCommand(program, rest[0]) && !Reads(program, rest) {
			return true
		}
	}
	return false
}
