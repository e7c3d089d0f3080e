package policy

import (
	"fmt"
	"slices"
	"strings"
)

// toolNames are known tools of coding agents, first the common names, then the names of
// specific agents. A rule for any other name is probably a mistake.
var toolNames = []string{
	// Claude Code, whose names are the common ones
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
	"run_commands", "read_files", "search_codebase", "editor", "fetch_web_content",
	"run_command", "execute_bash", "fs_read", "fs_write", "use_aws", "powershell", "agent", "download", "sourcegraph",
}

// findWarnings returns probable mistakes.
func (r *fileParser) findWarnings(all rules) (list []Problem) {
	for i := range all {
		current := &all[i]
		problem := Problem{File: r.file, Line: current.line, Column: 1}
		if !isKnownTool(current) {
			problem.Text = fmt.Sprintf("no agent we know has a tool %q", current.tool)
			if near := closestMatch(current.tool, toolNames); near != "" {
				problem.Text += fmt.Sprintf("; did you mean %q?", near)
			}
			list = append(list, problem)
		}
		for j := range i {
			if before := &all[j]; before.shadows(current) {
				problem.Text = fmt.Sprintf("this rule has no effect: the rule at line %d decides all calls of %s", before.line, current.tool)
				list = append(list, problem)
				break
			}
		}
	}
	return list
}

func isKnownTool(r *rule) bool {
	return !r.glob.IsLiteral() || strings.HasPrefix(r.tool, "mcp__") || slices.ContainsFunc(toolNames, r.glob.Match)
}

// shadows reports whether r decides every call that other applies to. A rule that allows
// never does, because it does not match every command.
func (r *rule) shadows(other *rule) bool {
	return len(r.when) == 0 && r.effect != Allow && (r.tool == "*" || strings.EqualFold(r.tool, other.tool))
}

// closestMatch returns the known word that got probably means, or "".
func closestMatch(got string, known []string) string {
	if len(got) > 60 {
		return ""
	}
	best, limit := "", 1+len(got)/3
	for _, word := range known {
		if d := editDistance(strings.ToLower(got), strings.ToLower(word)); d <= limit && (best == "" || d < limit) {
			best, limit = word, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of a and b, in bytes.
func editDistance(a, b string) int {
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
