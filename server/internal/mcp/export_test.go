package mcp

// AsksForSecret is asksForSecret.
var AsksForSecret = asksForSecret
