package call

import "strings"

// AnyServer stands for the server in the common name of an MCP tool if the agent does not name it, as in
// mcp__*__delete_issue.
const AnyServer = "*"

// NameFor returns a common name for a comparison with the pattern of a rule that asks or denies: the
// server of the pattern replaces AnyServer, and a name that VS Code cut to 13 characters, because the call
// may be for that server. A rule that allows is compared with the name itself.
func NameFor(name, pattern string) string {
	own, tool, _ := strings.Cut(strings.TrimPrefix(name, mcpPrefix), "__")
	rest, isMCP := strings.CutPrefix(pattern, mcpPrefix)
	server, _, hasTool := strings.Cut(rest, "__")
	isCut := len(own) == 13 && strings.HasPrefix(PlainName(server), PlainName(own))
	if !strings.HasPrefix(name, mcpPrefix) || own != AnyServer && !isCut || !isMCP || !hasTool || server == "" {
		return name
	}
	return mcpPrefix + server + "__" + tool
}

// PlainName returns the name of an MCP tool, or a pattern for it, with _ for what some agents replace by _
// in the names of servers.
func PlainName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(".-/:@ ", r) {
			return '_'
		}
		return r
	}, strings.ToLower(name))
}

const mcpPrefix = "mcp__"

// SplitMCP splits mcp__server__tool into the server and the tool. ok is false if the name is no such
// name, or can be split in several places and server, the agent's own name of it, does not tell which.
func SplitMCP(name, server string) (ownServer, tool string, ok bool) {
	rest, isMCP := strings.CutPrefix(name, mcpPrefix)
	names := 0
	for i := 1; isMCP && i+2 < len(rest); i++ {
		switch {
		case rest[i:i+2] != "__":
		case server != "" && PlainName(rest[:i]) == PlainName(server):
			return server, rest[i+2:], true
		default:
			ownServer, tool = rest[:i], rest[i+2:]
			names++
		}
	}
	return ownServer, tool, names == 1
}

func mcpName(server, tool string) string {
	if server == "" {
		server = AnyServer
	}
	return mcpPrefix + server + "__" + tool
}

// mcpNames returns all readings of an MCP tool's name in an agent as mcp__server__tool, or nil if the
// name is not one of an MCP tool.
func mcpNames(agent, tool string) []string {
	rest, hasPrefix := strings.CutPrefix(tool, "mcp_")
	switch {
	case strings.HasPrefix(tool, mcpPrefix):
		return []string{tool}
	case strings.HasPrefix(tool, "MCP:"): // Cursor
		return []string{mcpName("", tool[len("MCP:"):])}
	case hasPrefix: // Gemini CLI, Crush, VS Code
		if names := splitName(rest, "_"); len(names) > 0 {
			return names
		}
		return []string{mcpName("", rest)}
	case strings.HasPrefix(tool, "@"): // Kiro
		return splitName(tool[1:], "/")
	case strings.Contains(strings.Trim(tool, "_"), "___"): // Droid
		return splitName(tool, "___")
	case strings.Contains(strings.Trim(tool, "_"), "__"): // Cline, Gemini CLI
		return splitName(tool, "__")
	case agent == "copilot":
		return append(splitName(tool, "-"), splitName(tool, "/")...)
	case agent == "opencode" && !containsWord(openCodeTools, tool):
		return splitName(tool, "_")
	default:
		return nil
	}
}

// openCodeTools are the tools and permissions of OpenCode with a separator in their name, which else
// is SERVER_TOOL.
const openCodeTools = "apply_patch plan_enter plan_exit external_directory doom_loop"

// splitName returns the readings of a name at each separator.
func splitName(name, separator string) (names []string) {
	for i := range name {
		if strings.HasPrefix(name[i:], separator) && i > 0 && i+len(separator) < len(name) {
			names = append(names, mcpName(name[:i], name[i+len(separator):]))
		}
	}
	return names
}
