package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/install"
)

// agentRow is a row of the agent matrix. The abilities are text; the version is that of
// install.ProvenVersion.
type agentRow struct {
	name     string
	prompts  string // its own prompts, answered in the dashboard
	calls    string // calls that the policy covers
	fallback string // if no one can answer
	refusals string // calls that its own reviewer refuses; "" if it is not known to have one
	note     string // after the version, or for an agent that no test runs
}

const ownPrompt = "its own prompt"

var agentRows = []agentRow{
	{"claude-code", "approve, deny with a reason, edit, always allow; questions, plans, MCP servers' questions", "ask, deny, allow",
		"its own prompt, which is open all the time", "appeals", ""},
	{"codex", "approve, deny with a reason", "approve, deny, edit", "prompts: its own; policy: denied with a reason",
		"appeals, at the end of the turn", ""},
	{"opencode", "approve, deny with a reason, always allow (version 1); questions (version 1)", "version 2: approve, deny",
		"its own prompt, which is open all the time in version 1", "", "version 2 from its documentation"},
	{"copilot", "–", "approve, deny, edit", ownPrompt, "", ""},
	{"qwen", "approve, deny with a reason, edit", "approve, deny", ownPrompt,
		"appeals; in its terminal, once the model repeats the call", ""},
	{"droid", "–", "approve, deny, edit", "denied with a reason", "", ""},
	{"gemini", "–", "approve, deny, edit", "its own prompt if a terminal is attached (Linux); otherwise denied with a reason", "", ""},
	{"cline", "–", "approve, deny, edit (CLI 3); a denial ends the task", "denied with a reason", "", "CLI; the editor extension from its source"},
	{"cursor", "–", "approve, deny; edit except for shell and MCP calls", "its own prompt; file tools: denied with a reason",
		"its hooks report none", ""},
	{"antigravity", "–", "approve, deny", ownPrompt, "", "others saw a denial open its prompt in 1.1.2"},
	{"crush", "–", "approve, deny, edit", "like Gemini CLI", "", ""},
	{"windsurf", "–", "approve, deny", "denied with a reason", "", ""},
	{"kiro", "–", "approve, deny", "denied with a reason", "", "before Kiro 3"},
}

// agentDocs returns the documents and the page's file that name what is proven, by path.
func agentDocs(root string) (map[string][]byte, error) {
	files := map[string][]byte{"dashboard/src/features/setup/provenVersions.ts": provenVersions()}
	for path, text := range map[string]string{"README.md": agentSentence(), "server/docs/guide/agents.md": agentMatrix()} {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		if files[path], err = replaceGenerated(content, text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return files, nil
}

const generatedBegin, generatedEnd = "<!-- Generated from agentclient/install/proven.json. -->\n", "<!-- End of what is generated. -->\n"

// replaceGenerated replaces the text between the two marks.
func replaceGenerated(content []byte, text string) ([]byte, error) {
	before, rest, found := bytes.Cut(content, []byte(generatedBegin))
	_, after, ended := bytes.Cut(rest, []byte(generatedEnd))
	if !found || !ended {
		return nil, fmt.Errorf("the marks %q and %q are missing", generatedBegin, generatedEnd)
	}
	return bytes.Join([][]byte{before, []byte(generatedBegin), []byte(text), []byte(generatedEnd), after}, nil), nil
}

func agentMatrix() string {
	var proven, unproven strings.Builder
	for _, r := range agentRows {
		table, last := &unproven, r.note
		if version := install.ProvenVersion(r.name); version != "" {
			table, last = &proven, version
			if r.note != "" {
				last += " (" + r.note + ")"
			}
		}
		fmt.Fprintf(table, "| %s | `%s` | %s | %s | %s | %s | %s |\n", install.AgentTitle(r.name), r.name, r.prompts, r.calls, r.fallback,
			cmp.Or(r.refusals, "–"), last)
	}
	const columns = "| Agent | `--agent` | Its own prompts, answered in the dashboard | Calls that the policy covers, before they run | If no one can answer | Calls that its own reviewer refuses | "
	const line = "|---|---|---|---|---|---|---|\n"
	return columns + "Proven on |\n" + line + proven.String() + "\nFrom their documentation, not proven:\n\n" + columns + "Note |\n" + line + unproven.String()
}

// agentSentence names the agents, with the versions of those that are proven.
func agentSentence() string {
	var proven, unproven []string
	for _, r := range agentRows {
		title := install.AgentTitle(r.name)
		if version := install.ProvenVersion(r.name); version != "" {
			proven = append(proven, title+" "+version)
		} else {
			unproven = append(unproven, title)
		}
	}
	return "The [agent matrix](server/docs/guide/agents.md) lists " + strconv.Itoa(len(agentRows)) + " agents. Proven with the real programs: " +
		strings.Join(proven, ", ") + ". From their documentation, not proven: " + strings.Join(unproven, ", ") + ".\n"
}

func provenVersions() []byte {
	var b bytes.Buffer
	b.WriteString("// Generated from agentclient/install/proven.json. Do not edit.\n\n" +
		"/** The last version of each agent, by its id, whose tests with the real program passed. Others follow their documentation. */\n" +
		"export const provenVersions: Readonly<Record<string, string>> = {\n")
	for _, r := range agentRows {
		if version := install.ProvenVersion(r.name); version != "" {
			key := r.name
			if strings.Contains(key, "-") {
				key = "'" + key + "'"
			}
			fmt.Fprintf(&b, "  %s: '%s',\n", key, version)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}
