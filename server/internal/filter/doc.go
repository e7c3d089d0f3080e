// Package filter implements the event filter language: words that must all occur, "a phrase",
// key:value with * as a wildcard, /a regular expression/, and - for negation.
//
//	timeout -agent:ci tool:Bash tool_input.command:*deploy* /exit [1-9]/
//
// Only the hub matches events. The dashboard's src/lib/stream/filter.ts splits a filter into its terms, for
// rules that start from one.
//
// Matching ignores case. A word is searched for in the event's names, its summary line, and the
// scalars of its payload and question, up to maxTextUnits. A key is a known field, or otherwise
// a path into the payload or its tool_input. A list or object at that path matches if any scalar
// in it does. A payload that is too large for a list (schema.MaxListed) is not searched.
//
// The key chat searches the transcript of an event: its value must occur in the text, where the values of
// other keys must be equal to it. Only the newest transcript of each session is searched.
//
// A regular expression is one of JavaScript, with the flags i and u, that RE2 can run in linear time: it has
// no back references and no lookaround.
package filter
