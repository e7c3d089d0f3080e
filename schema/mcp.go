package schema

import "encoding/json"

// PathMCP serves the Model Context Protocol over Streamable HTTP. It is stateless: the hub keeps no
// sessions, answers each POST on its own and rejects GET and DELETE.
//
//	claude mcp add --transport http hookback http://127.0.0.1:4000/mcp
const PathMCP = "/mcp"

// RPC is a JSON-RPC 2.0 message: a request with Method, or a response with Result or Error.
type RPC struct {
	JSONRPC string          `json:"jsonrpc" jsonschema:"enum=2.0"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty" jsonschema:"type=object"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is the error of a JSON-RPC response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}
