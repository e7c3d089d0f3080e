package programs

import (
	"slices"
	"strings"
	"sync"
)

// Effect is the action of an option beyond the purpose of its program.
type Effect int

const (
	// NoEffect is an option that does nothing unexpected, or one that is not in the table.
	NoEffect Effect = iota
	// Writes is an option that writes a file, in a program that otherwise reads.
	Writes
	// Executes is an option that runs a program or loads code, or that names settings which do.
	Executes
)

// harmlessRow is one line of harmlessTable.
type harmlessRow struct {
	subcommands []string
	options     map[string]option
	operands    []kind // of the operands, in order
	repeats     bool   // the last operand may occur any number of times, also none
	needsOption bool   // one of the needed options must occur
}

// option is an option of a harmless call.
type option struct {
	value    kind
	optional bool // the value can only be attached: -Cvalue or --color=value
	operand  bool // takes the place of the first operand
	needed   bool // a call must have this option or another needed one
}

// table is a table in text form. The rows of a program are parsed when it is first looked up, because a
// hook starts for each call of an agent.
type table[R any] struct {
	lines func() map[string][]string // by program
	parse func(subcommands []string, rest string) R
	rows  sync.Map // []R by program, of the programs in the table
}

// newTable returns a table with lines such as "program|program subcommand|subcommand : rest". Bars
// separate alternatives.
func newTable[R any](text string, parse func(subcommands []string, rest string) R) *table[R] {
	return &table[R]{parse: parse, lines: sync.OnceValue(func() map[string][]string {
		lines := make(map[string][]string, len(text)/16)
		for line := range strings.Lines(text) {
			names, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			only := []string{line} // shared, as most programs have one line
			for program := range strings.SplitSeq(names, "|") {
				if earlier := lines[program]; earlier == nil {
					lines[program] = only[:1:1]
				} else {
					lines[program] = append(earlier, line)
				}
			}
		}
		return lines
	})}
}

// has reports whether the table has a program. A name with @ is one of a set of options.
func (t *table[R]) has(program string) bool {
	return program != "" && program[0] != '@' && len(t.lines()[program]) > 0
}

// of returns the rows of a program, one for each list of subcommands.
func (t *table[R]) of(program string) (rows []R) {
	if !t.has(program) {
		return nil
	}
	if rows, ok := t.rows.Load(program); ok {
		return rows.([]R) //nolint:forcetypeassert // only this function stores
	}
	for _, line := range t.lines()[program] {
		head, rest, _ := strings.Cut(line, " : ")
		for _, subcommands := range alternatives(strings.Fields(head)[1:]) {
			rows = append(rows, t.parse(subcommands, " "+strings.TrimSpace(rest)+" "))
		}
	}
	t.rows.Store(program, rows)
	return rows
}

// alternatives returns every list of words with one of the alternatives of each.
func alternatives(words []string) [][]string {
	lists := [][]string{nil}
	for _, w := range words {
		var longer [][]string
		for _, list := range lists {
			for alternative := range strings.SplitSeq(w, "|") {
				longer = append(longer, append(slices.Clone(list), alternative))
			}
		}
		lists = longer
	}
	return lists
}

// harmlessPrograms is harmlessTable by program.
var harmlessPrograms *table[harmlessRow]

func init() { harmlessPrograms = newTable(harmlessTable, parseHarmless) } // which looks up sets of options in it

func parseHarmless(subcommands []string, rest string) harmlessRow {
	options, operands, _ := strings.Cut(rest, " : ")
	row := harmlessRow{subcommands: subcommands, options: parseOptions(expandSets(strings.Fields(options)))}
	for _, o := range row.options {
		row.needsOption = row.needsOption || o.needed
	}
	for w := range strings.FieldsSeq(operands) {
		name, repeats := strings.CutSuffix(w, "…")
		row.operands, row.repeats = append(row.operands, kindOf(name)), repeats
	}
	return row
}

func expandSets(words []string) (list []string) {
	for _, w := range words {
		if !strings.HasPrefix(w, "@") {
			list = append(list, w)
		}
		for _, line := range harmlessPrograms.lines()[w] {
			list = append(list, strings.Fields(line)[2:]...)
		}
	}
	return list
}

// parseOptions reads options in the form that harmlessTable documents.
func parseOptions(words []string) map[string]option {
	m := make(map[string]option, len(words))
	for _, w := range words {
		var o option
		name := w
		if before, value, ok := strings.Cut(w, "[="); ok {
			name, o.value, o.optional = before, kindOf(strings.TrimSuffix(value, "]")), true
		} else if before, value, ok := strings.Cut(w, "="); ok {
			name, o.value = before, kindOf(value)
		}
		name, o.operand = strings.CutSuffix(name, "!")
		name, o.needed = strings.CutSuffix(name, "+")
		m[name] = o
	}
	return m
}

// optionRow is one line of optionTable.
type optionRow struct {
	subcommands []string
	effect      Effect
	options     []string
	values      string // short options that take a value, which ends a cluster
	before      bool   // the options count only before the first operand
}

var optionRows = newTable(optionTable, func(subcommands []string, rest string) optionRow {
	row := optionRow{subcommands: subcommands, effect: Executes}
	for w := range strings.FieldsSeq(rest) {
		values, isValues := strings.CutPrefix(w, "values=")
		switch {
		case w == "writes":
			row.effect = Writes
		case w == "before":
			row.before = true
		case isValues:
			row.values = values
		default:
			row.options = append(row.options, w)
		}
	}
	return row
})
