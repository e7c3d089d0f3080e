package mcp

// AsksForSecret exports asksForSecret for tests.
var AsksForSecret = asksForSecret
