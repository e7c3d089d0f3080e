package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// typescript writes the contract's types under their Go names.
func typescript(c *contract) []byte {
	var b bytes.Buffer
	b.WriteString("// Made from schema/*.go by go run ./schema/gen. Do not edit.\n")
	names := make([]string, 0, len(c.defs))
	for name := range c.defs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		def := c.defs[name]
		b.WriteString("\n")
		comment(&b, "", def.Description)
		if def.Properties != nil {
			fmt.Fprintf(&b, "export interface %s %s\n", name, object(def, ""))
			continue
		}
		fmt.Fprintf(&b, "export type %s =%s\n", name, alternatives(def, printWidth-len("export type  =")-len(name)))
	}
	return b.Bytes()
}

// printWidth is the dashboard's own, so that prettier has nothing to change.
const printWidth = 110

// alternatives is the right side of a type's declaration: one type, or a union
// with a line for each of its parts where they are wider than width together.
func alternatives(def *jsonschema.Schema, width int) string {
	var parts []string
	for _, value := range def.Enum {
		parts = append(parts, quote(fmt.Sprint(value)))
	}
	for _, one := range def.OneOf {
		parts = append(parts, oneLine(one))
	}
	if len(parts) == 0 {
		return " " + typeOf(def)
	}
	if line := " " + strings.Join(parts, " | "); len(line) <= width {
		return line
	}
	return "\n  | " + strings.Join(parts, "\n  | ")
}

func object(def *jsonschema.Schema, indent string) string {
	var b bytes.Buffer
	b.WriteString("{\n")
	for name, property := range properties(def) {
		comment(&b, indent+"  ", property.Description)
		fmt.Fprintf(&b, "%s  %s%s: %s\n", indent, name, optional(def, name), typeOf(property))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func oneLine(def *jsonschema.Schema) string {
	var parts []string
	for name, property := range properties(def) {
		parts = append(parts, name+optional(def, name)+": "+typeOf(property))
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

func optional(def *jsonschema.Schema, member string) string {
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
		return quote(fmt.Sprint(s.Const))
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, value := range s.Enum {
			words[i] = quote(fmt.Sprint(value))
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
		if s.AdditionalProperties != nil && !anything(s.AdditionalProperties) {
			return "Record<string, " + typeOf(s.AdditionalProperties) + ">"
		}
		return "Record<string, unknown>"
	default:
		return "unknown"
	}
}

func quote(s string) string {
	q := strconv.Quote(s)
	return "'" + strings.ReplaceAll(q[1:len(q)-1], "'", `\'`) + "'"
}

// comment writes text as a TSDoc comment, wrapped.
func comment(b *bytes.Buffer, indent, text string) {
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
