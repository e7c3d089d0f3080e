package mcp

// AsksForASecret is asksForASecret.
var AsksForASecret = asksForASecret
