package agentclient

import (
	"fmt"
	"slices"
	"strings"
)

// toolNames are tools that coding agents have: the common names first, then the
// agents' own. A rule for another name is probably a mistake.
var toolNames = []string{
	// Claude Code's, which are the common ones.
	"Bash", "Read", "Write", "Edit", "WebFetch", "WebSearch", "Task", "Agent", "MultiEdit", "NotebookEdit", "NotebookRead",
	"Glob", "Grep", "LS", "TodoRead", "TodoWrite", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "SlashCommand",
	"BashOutput", "KillBash", "KillShell", "PowerShell", "LSP", "ListMcpResourcesTool", "ReadMcpResourceTool", "ToolSearch",
	// Codex
	"shell", "local_shell", "unified_exec", "exec_command", "apply_patch", "update_plan", "view_image", "web_search",
	// Gemini CLI and Qwen Code
	"run_shell_command", "write_file", "read_file", "read_many_files", "replace", "edit", "list_directory", "glob", "grep_search",
	"search_file_content", "google_web_search", "web_fetch", "save_memory", "write_todos", "task", "exit_plan_mode", "todo_write",
	// Cursor, Copilot, OpenCode, Droid, Crush, Cline, Windsurf, Kiro, Antigravity
	"Shell", "Delete", "bash", "read", "write", "view", "create", "str_replace", "str_replace_editor", "multiedit", "patch", "fetch",
	"webfetch", "websearch", "codesearch", "list", "grep", "ls", "todowrite", "todoread", "skill", "question", "Create", "Execute",
	"ApplyPatch", "FetchUrl", "execute_command", "write_to_file", "replace_in_file", "search_files", "list_files", "use_mcp_tool",
	"run_command", "execute_bash", "fs_read", "fs_write", "use_aws", "powershell", "agent", "download", "sourcegraph",
}

// warnings are about what is probably a mistake.
func (r *policyReader) warnings(all rules) (list []PolicyProblem) {
	for i := range all {
		one := &all[i]
		at := PolicyProblem{File: r.file, Line: one.line, Column: 1}
		if !knownTool(one) {
			at.Text = fmt.Sprintf("no agent we know has a tool %q", one.tool)
			if near := closest(one.tool, toolNames); near != "" {
				at.Text += fmt.Sprintf("; did you mean %q?", near)
			}
			list = append(list, at)
		}
		for j := range i {
			if before := &all[j]; before.hides(one) {
				at.Text = fmt.Sprintf("this rule is never reached: the one at line %d decides all calls of %s", before.line, one.tool)
				list = append(list, at)
				break
			}
		}
	}
	return list
}

func knownTool(r *rule) bool {
	return !r.glob.literal() || strings.HasPrefix(r.tool, "mcp__") || slices.ContainsFunc(toolNames, r.glob.match)
}

// hides reports whether no call can get past r to other. A rule that allows lets
// calls past: it never allows some commands.
func (r *rule) hides(other *rule) bool {
	return len(r.when) == 0 && r.then != ThenAllow && (r.tool == "*" || strings.EqualFold(r.tool, other.tool))
}

// closest is the known word that was probably meant, or nothing.
func closest(got string, known []string) string {
	if len(got) > 60 {
		return ""
	}
	best, near := "", 1+len(got)/3
	for _, word := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(word)); d <= near && (best == "" || d < near) {
			best, near = word, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
