package main

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema/routes"
)

// typescript returns the contract's types as TypeScript declarations with their Go names, and the routes.
func typescript(c *contract) []byte {
	var b bytes.Buffer
	b.WriteString("// Generated from schema/*.go by go run ./schema/gen. Do not edit.\n")
	b.WriteString("\nexport type Json = null | boolean | number | string | Json[] | JsonObject\n")
	b.WriteString("export interface JsonObject {\n  [key: string]: Json\n}\n")
	names := make([]string, 0, len(c.defs))
	for name := range c.defs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		def := c.defs[name]
		b.WriteString("\n")
		writeComment(&b, "", def.Description)
		if def.Properties != nil {
			if name == "Event" {
				def = hubEvent(def)
			}
			fmt.Fprintf(&b, "export interface %s %s\n", name, objectType(def, ""))
			continue
		}
		fmt.Fprintf(&b, "export type %s =%s\n", name, unionOf(def, printWidth-len("export type  =")-len(name)))
	}
	writeRoutes(&b)
	return b.Bytes()
}

// writeRoutes writes the type of all routes. The params of a route are the values of its path and, if the page
// only reads, of its query.
func writeRoutes(b *bytes.Buffer) {
	b.WriteString("\n/** The routes of the hub by method and path, with their parameters and bodies. */\nexport interface Routes {\n")
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		fmt.Fprintf(b, "  %s: {\n", method)
		for i := range routes.All {
			if routes.All[i].Method == method {
				writeRoute(b, &routes.All[i])
			}
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
}

func writeRoute(b *bytes.Buffer, r *routes.Route) {
	writeComment(b, "    ", r.Summary)
	fmt.Fprintf(b, "    '%s': {\n", r.Path)
	var params []string
	for _, segment := range strings.Split(r.Path, "/") {
		if name, ok := strings.CutPrefix(segment, ":"); ok {
			params = append(params, name+": string | number")
		}
	}
	if r.Method == "GET" {
		for _, p := range r.Query {
			kind := "string | readonly string[]"
			if _, isInteger := r.RangeOf(p.Name); isInteger && p.Name != "cursor" { // a page sends a cursor as it got it
				kind = "number"
			}
			params = append(params, p.Name+"?: "+kind)
		}
	}
	if len(params) > 0 {
		fmt.Fprintf(b, "      params: {\n        %s\n      }\n", strings.Join(params, "\n        "))
	}
	if r.Request != nil {
		fmt.Fprintf(b, "      request: %s\n", bodyType(r.Request))
	}
	if r.Response != nil {
		fmt.Fprintf(b, "      response: %s\n", bodyType(r.Response))
	}
	b.WriteString("    }\n")
}

// bodyType returns the TypeScript type of a body, given its zero value.
func bodyType(body any) string {
	t := reflect.TypeOf(body)
	if t.Kind() == reflect.Slice {
		return t.Elem().Name() + "[]"
	}
	return t.Name()
}

// hubEvent returns the definition of an event that the hub sends: it has an id.
func hubEvent(def *jsonschema.Schema) *jsonschema.Schema {
	hub := *def
	hub.Required = append([]string{"id"}, def.Required...)
	return &hub
}

// printWidth is prettier's print width in the dashboard, so that prettier changes nothing.
const printWidth = 110

// unionOf returns the right side of a type declaration: one type or a union, with one line per
// variant if it exceeds width.
func unionOf(def *jsonschema.Schema, width int) string {
	var parts []string
	for _, value := range def.Enum {
		parts = append(parts, quoteString(fmt.Sprint(value)))
	}
	for _, variant := range def.OneOf {
		parts = append(parts, inlineObject(variant))
	}
	if len(parts) == 0 {
		return " " + typeOf(def)
	}
	if line := " " + strings.Join(parts, " | "); len(line) <= width {
		return line
	}
	return "\n  | " + strings.Join(parts, "\n  | ")
}

func objectType(def *jsonschema.Schema, indent string) string {
	var b bytes.Buffer
	b.WriteString("{\n")
	for name, property := range properties(def) {
		writeComment(&b, indent+"  ", property.Description)
		fmt.Fprintf(&b, "%s  %s%s: %s\n", indent, name, optionalMark(def, name), typeOf(property))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func inlineObject(def *jsonschema.Schema) string {
	var parts []string
	for name, property := range properties(def) {
		parts = append(parts, name+optionalMark(def, name)+": "+typeOf(property))
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

func optionalMark(def *jsonschema.Schema, member string) string {
	if slices.Contains(def.Required, member) {
		return ""
	}
	return "?"
}

func typeOf(s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, defs)
	case s.Const != nil:
		return quoteString(fmt.Sprint(s.Const))
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, value := range s.Enum {
			words[i] = quoteString(fmt.Sprint(value))
		}
		return strings.Join(words, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		return typeOf(s.Items) + "[]"
	case "object":
		if s.AdditionalProperties != nil && !allowsAnything(s.AdditionalProperties) {
			return "Record<string, " + typeOf(s.AdditionalProperties) + ">"
		}
		return "JsonObject"
	default:
		return "Json"
	}
}

func quoteString(s string) string {
	q := strconv.Quote(s)
	return "'" + strings.ReplaceAll(q[1:len(q)-1], "'", `\'`) + "'"
}

// writeComment writes text as a wrapped TSDoc comment.
func writeComment(b *bytes.Buffer, indent, text string) {
	if text == "" {
		return
	}
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(indent)+len(line)+len(word) > printWidth-6 {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		fmt.Fprintf(b, "%s/** %s */\n", indent, lines[0])
		return
	}
	fmt.Fprintf(b, "%s/**\n", indent)
	for _, line := range lines {
		fmt.Fprintf(b, "%s\n", strings.TrimRight(indent+" * "+line, " "))
	}
	fmt.Fprintf(b, "%s */\n", indent)
}
