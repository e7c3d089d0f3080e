package install

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines a diff shows around changed ones.
const context = 3

// Diff is the change as patch would take it, empty when there is none.
func (c *Change) Diff() string {
	if !c.HasChanges() {
		return ""
	}
	from, to := c.File, c.File
	if !c.Exists {
		from = "/dev/null"
	}
	if c.Delete {
		to = "/dev/null"
	}
	return "--- " + from + "\n+++ " + to + "\n" + hunks(lines(c.Before), lines(c.After))
}

// lines keeps the lines' ends, so that a change of them shows.
func lines(s string) []string {
	all := strings.SplitAfter(s, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// step is a line of a diff: ' ', '-' or '+'.
type step struct {
	sign byte
	line string
}

// steps leads from a to b by the longest common lines. Beyond a size nobody reads
// it is all of one and all of the other.
func steps(a, b []string) (all []step) {
	var tail []step
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		all, a, b = append(all, step{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail, a, b = append([]step{{' ', a[len(a)-1]}}, tail...), a[:len(a)-1], b[:len(b)-1]
	}
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	if len(a)*len(b) < 4_000_000 {
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				common[i][j] = max(common[i+1][j], common[i][j+1])
				if a[i] == b[j] {
					common[i][j] = 1 + common[i+1][j+1]
				}
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && common[i][j] > 0:
			all = append(all, step{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, step{'-', a[i]})
			i++
		default:
			all = append(all, step{'+', b[j]})
			j++
		}
	}
	return append(all, tail...)
}

// hunks writes the changed parts with what stands around them.
func hunks(a, b []string) string {
	all := steps(a, b)
	var out strings.Builder
	for at, lineA, lineB := 0, 1, 1; at < len(all); {
		if all[at].sign == ' ' {
			at, lineA, lineB = at+1, lineA+1, lineB+1
			continue
		}
		begin := max(at-context, 0)
		end := at
		for i, still := at, 0; i < len(all) && still <= 2*context; i++ {
			still++
			if all[i].sign != ' ' {
				end, still = i+1, 0
			}
		}
		end = min(end+context, len(all))
		lead := at - begin
		lineA, lineB = writeHunk(&out, all[begin:end], lineA-lead, lineB-lead)
		at = end
	}
	return out.String()
}

// writeHunk returns the lines' numbers behind it.
func writeHunk(out *strings.Builder, part []step, lineA, lineB int) (nextA, nextB int) {
	nextA, nextB = lineA, lineB
	for _, s := range part {
		if s.sign != '+' {
			nextA++
		}
		if s.sign != '-' {
			nextB++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", extent(lineA, nextA-lineA), extent(lineB, nextB-lineB))
	for _, s := range part {
		out.WriteByte(s.sign)
		out.WriteString(s.line)
		if !strings.HasSuffix(s.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return nextA, nextB
}

func extent(line, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", line-1)
	}
	return fmt.Sprintf("%d,%d", line, n)
}
