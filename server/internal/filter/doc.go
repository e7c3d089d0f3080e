// Package filter is the language in which a person says which events to show:
// words that must all occur, "a phrase", key:value with * for anything, /a regular
// expression/, and - before what must not be.
//
//	timeout -agent:ci tool:Bash tool_input.command:*deploy* /exit [1-9]/
//
// The dashboard's src/filter.ts is the same language over the events that a page
// holds, and src/testing/filter-cases.json there is run by the tests of both.
//
// Capitals and small letters are the same. A word is looked for in the event's
// names, its line, and whatever its payload and its question hold, up to maxTextUnits.
// A key is a field or else a path into the payload or its tool_input; a list or an
// object there matches when something in it does. A payload that is too big for a
// list (schema.MaxListed) is not looked into.
//
// The two differ in one thing: a page has the regular expressions of JavaScript,
// the hub those of RE2, which take linear time. What both take means the same.
package filter
