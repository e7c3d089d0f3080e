package schema

import "encoding/json"

// PathMCP takes the Model Context Protocol, as Streamable HTTP. The hub keeps no
// sessions there: each POST is answered by itself, and GET and DELETE are refused.
//
//	claude mcp add --transport http hookback http://127.0.0.1:4000/mcp
const PathMCP = "/mcp"

// RPC is a message of JSON-RPC 2.0: a request has a Method, a response Result or Error.
type RPC struct {
	JSONRPC string          `json:"jsonrpc" jsonschema:"enum=2.0"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty" jsonschema:"type=object"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError says why a request of JSON-RPC failed.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

var mcpRoutes = []Route{
	{"POST", PathMCP, "The Model Context Protocol, Streamable HTTP without sessions: tools to ask people, wait for them, see and vote on requests, and search events. Slow answers come as an event stream", []Param{
		{"app", "the source_app of what this client asks; mcp unless told, and an agent's token has its own name"},
		{"session", "the session_id of what this client asks; mcp unless told"},
		{"timeout", "seconds that people have for what this client asks, 300 unless a tool says otherwise"},
	}, RPC{}, RPC{}},
}
