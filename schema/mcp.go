package schema

// PathMCP serves the Model Context Protocol over Streamable HTTP. It is stateless: the hub keeps no
// sessions, answers each POST on its own and rejects GET and DELETE.
//
//	claude mcp add --transport http hookback http://127.0.0.1:4000/mcp
const PathMCP = "/mcp"
