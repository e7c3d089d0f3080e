// Package filter implements the event filter language: words that must all occur, "a phrase",
// key:value with * as a wildcard, /a regular expression/, and - for negation.
//
//	timeout -agent:ci tool:Bash tool_input.command:*deploy* /exit [1-9]/
//
// The dashboard's src/lib/stream/filter.ts implements the same language for the events that a page has
// loaded. The tests of both run src/testing/filter-cases.json there.
//
// Matching ignores case. A word is searched for in the event's names, its summary line, and the
// scalars of its payload and question, up to maxTextUnits. A key is a known field, or otherwise
// a path into the payload or its tool_input. A list or object at that path matches if any scalar
// in it does. A payload that is too large for a list (schema.MaxListed) is not searched.
//
// The key chat searches the transcript of an event: its value must occur in the text, where the values of
// other keys must be equal to it. Only the newest transcript of each session is searched, and pages have
// none: a page leaves such a filter to the hub.
//
// There is one difference: a page uses JavaScript's regular expressions, the hub uses RE2, which
// runs in linear time. An expression that both accept means the same in both.
package filter
