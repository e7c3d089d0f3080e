package digest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// CallResult is the report of the end of a tool call, whatever agent it comes from.
type CallResult struct {
	Lines []string // of the output, each as a terminal would show it
	Exit  *int64   // exit status; nil: not reported
	Files []string // that the agent says it changed
}

const (
	maxResultDepth = 4
	maxResultBytes = 1 << 20 // of the output, its end
	maxResultLine  = 300     // characters
)

// ResultOf reads the payload of the end of a tool call.
func ResultOf(payload []byte) (r CallResult) {
	var output []string
	failure := ""
	EachMember(payload, func(name string, value []byte) {
		switch name {
		case "tool_response", "tool_result", "toolResult", "tool_output", "output", "result":
			r.read(value, maxResultDepth, &output)
		case "error":
			setIfString(&failure, value)
			setIfString(&failure, FindMember(value, "message"))
		}
	})
	if len(output) == 0 && failure != "" {
		output = append(output, failure)
	}
	if found := statedExit.FindStringSubmatch(failure); r.Exit == nil && found != nil {
		r.setExit([]byte(found[1]))
	}
	text := strings.Join(output, "\n")
	text = strings.TrimRight(text[max(0, len(text)-maxResultBytes):], "\r\n\t ")
	if text != "" {
		r.Lines = strings.Split(escapeSequence.ReplaceAllString(text, ""), "\n")
	}
	for i, line := range r.Lines {
		line = strings.TrimSuffix(line, "\r")
		r.Lines[i] = printable(line[strings.LastIndexByte(line, '\r')+1:])
	}
	return r
}

var (
	escapeSequence = regexp.MustCompile(`\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)
	statedExit     = regexp.MustCompile(`^(?i:exit (?:code|status):?) (\d{1,5})\b`)
)

// read adds the texts of a result: a text, a list, or an object with the members that agents use.
func (r *CallResult) read(value []byte, depth int, output *[]string) {
	if depth == 0 {
		return
	}
	if text := StringValue(value); text != "" {
		if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && depth == maxResultDepth { // an object as text
			before := len(*output)
			if r.read([]byte(text), depth-1, output); len(*output) > before {
				return
			}
		}
		*output = append(*output, text)
		return
	}
	eachElement(value, func(element []byte) { r.read(element, depth-1, output) })
	EachMember(value, func(name string, value []byte) {
		switch name {
		case "stdout", "stderr", "output", "aggregated_output", "text", "content", "llmContent", "textResultForLlm", "result", "error":
			r.read(value, depth-1, output)
		case "metadata":
			r.setExit(FindMember(value, "exit_code"))
		case "exit_code", "exitCode", "exit_status", "returnCode":
			r.setExit(value)
		case "filePath", "file_path":
			if path := StringValue(value); path != "" {
				r.Files = append(r.Files, path)
			}
		}
	})
}

func (r *CallResult) setExit(value []byte) {
	if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
		r.Exit = &n
	}
}

// printable returns the start of a line without characters that a reader can't see.
func printable(line string) string {
	var b strings.Builder
	length := 0
	for _, char := range strings.ReplaceAll(line, "\t", "    ") {
		if !unicode.IsPrint(char) {
			continue
		}
		if length++; length > maxResultLine {
			b.WriteRune('…')
			break
		}
		b.WriteRune(char)
	}
	return b.String()
}
