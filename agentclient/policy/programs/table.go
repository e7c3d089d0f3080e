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

// parsePrograms reads lines of programs with common subcommands. Bars separate alternatives.
func parsePrograms(table string) map[string][][]string {
	m := map[string][][]string{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		lists := [][]string{nil}
		for _, w := range words[1:] {
			var longer [][]string
			for _, list := range lists {
				for alternative := range strings.SplitSeq(w, "|") {
					longer = append(longer, append(slices.Clone(list), alternative))
				}
			}
			lists = longer
		}
		for program := range strings.SplitSeq(words[0], "|") {
			m[program] = append(m[program], lists...)
		}
	}
	return m
}

// harmlessPrograms returns harmlessTable by program, and the options before a subcommand. The
// tables are parsed when they are first needed, because a hook starts for each call of an agent.
var harmlessPrograms = sync.OnceValues(func() (map[string][]harmlessRow, map[string]map[string]option) {
	return parseHarmless(harmlessTable)
})

func parseHarmless(table string) (rows map[string][]harmlessRow, globals map[string]map[string]option) {
	rows, globals = map[string][]harmlessRow{}, map[string]map[string]option{}
	sets := map[string][]string{}
	for line := range strings.Lines(table) {
		head, rest, ok := strings.Cut(line, " : ")
		if !ok {
			continue
		}
		options, operands, _ := strings.Cut(" "+strings.TrimSpace(rest)+" ", " : ")
		words := expandSets(sets, strings.Fields(options))
		if strings.HasPrefix(head, "@") {
			sets[head] = append(sets[head], words...)
			continue
		}
		row := harmlessRow{options: parseOptions(words)}
		for _, o := range row.options {
			row.needsOption = row.needsOption || o.needed
		}
		for _, w := range strings.Fields(operands) {
			name, repeats := strings.CutSuffix(w, "…")
			row.operands, row.repeats = append(row.operands, kindOf(name)), repeats
		}
		for program, lists := range parsePrograms(head) {
			for _, subcommands := range lists {
				if slices.Equal(subcommands, []string{"*"}) {
					globals[program] = row.options
					continue
				}
				row.subcommands = subcommands
				rows[program] = append(rows[program], row)
			}
		}
	}
	return rows, globals
}

func expandSets(sets map[string][]string, words []string) (list []string) {
	for _, w := range words {
		if set, ok := sets[w]; ok {
			list = append(list, set...)
		} else {
			list = append(list, w)
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

var optionRows = sync.OnceValue(func() map[string][]optionRow {
	m := map[string][]optionRow{}
	for line := range strings.Lines(optionTable) {
		head, rest, ok := strings.Cut(line, " : ")
		if !ok {
			continue
		}
		row := optionRow{effect: Executes}
		for _, w := range strings.Fields(rest) {
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
		for program, lists := range parsePrograms(head) {
			for _, row.subcommands = range lists {
				m[program] = append(m[program], row)
			}
		}
	}
	return m
})
