package install

import (
	"fmt"
	"strings"
)

// contextLines is the number of unchanged lines around each change in a diff.
const contextLines = 3

// Diff returns the change as a unified diff, or "" without changes.
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
	return "--- " + from + "\n+++ " + to + "\n" + formatHunks(splitLines(c.Before), splitLines(c.After))
}

// splitLines keeps the line endings, so that a change of them is visible.
func splitLines(s string) []string {
	all := strings.SplitAfter(s, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// diffLine is a line of a diff with the sign ' ', '-' or '+'.
type diffLine struct {
	sign byte
	line string
}

// diffLines computes the difference by the longest common subsequence of lines. Inputs
// that are too large for it become one deletion and one insertion.
func diffLines(a, b []string) (all []diffLine) {
	var tail []diffLine
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		all, a, b = append(all, diffLine{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail, a, b = append([]diffLine{{' ', a[len(a)-1]}}, tail...), a[:len(a)-1], b[:len(b)-1]
	}
	common := make([][]int, len(a)+1) // [i][j] is the length for a[i:] and b[j:]
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
			all = append(all, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, diffLine{'-', a[i]})
			i++
		default:
			all = append(all, diffLine{'+', b[j]})
			j++
		}
	}
	return append(all, tail...)
}

// formatHunks writes the changes with contextLines lines around them.
func formatHunks(a, b []string) string {
	all := diffLines(a, b)
	var out strings.Builder
	for at, lineA, lineB := 0, 1, 1; at < len(all); {
		if all[at].sign == ' ' {
			at, lineA, lineB = at+1, lineA+1, lineB+1
			continue
		}
		begin := max(at-contextLines, 0)
		end := at
		for i, still := at, 0; i < len(all) && still <= 2*contextLines; i++ {
			still++
			if all[i].sign != ' ' {
				end, still = i+1, 0
			}
		}
		end = min(end+contextLines, len(all))
		lead := at - begin
		lineA, lineB = writeHunk(&out, all[begin:end], lineA-lead, lineB-lead)
		at = end
	}
	return out.String()
}

// writeHunk writes one hunk and returns the line numbers after it.
func writeHunk(out *strings.Builder, part []diffLine, lineA, lineB int) (nextA, nextB int) {
	nextA, nextB = lineA, lineB
	for _, s := range part {
		if s.sign != '+' {
			nextA++
		}
		if s.sign != '-' {
			nextB++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(lineA, nextA-lineA), lineRange(lineB, nextB-lineB))
	for _, s := range part {
		out.WriteByte(s.sign)
		out.WriteString(s.line)
		if !strings.HasSuffix(s.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return nextA, nextB
}

func lineRange(line, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", line-1)
	}
	return fmt.Sprintf("%d,%d", line, n)
}
