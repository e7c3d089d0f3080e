package usage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// MaxLine limits a line of a transcript, in bytes. A longer one is not read.
const MaxLine = 32 << 20

// Line has the members of a line of Claude Code that count here. The format is not documented: a line of
// another form has nothing.
type Line struct {
	Type       string          `json:"type"`
	UUID       string          `json:"uuid"`
	SessionID  string          `json:"sessionId"` // the session of the line, which may not be that of its file
	Timestamp  time.Time       `json:"timestamp"`
	Sidechain  bool            `json:"isSidechain"` // of a subagent
	ForkedFrom json.RawMessage `json:"forkedFrom"`  // the line is a copy from another session

	RequestID      string `json:"requestId"`        // of the server
	RequestRef     string `json:"requestRef"`       // of Claude Code, since 2.1.332
	RequestSession string `json:"requestSessionId"` // the session that made the request, in a copy of its line

	CostUSD      float64               `json:"costUSD"`      // of the request
	TotalCostUSD float64               `json:"totalCostUSD"` // of the session so far
	ModelUsage   map[string]modelUsage `json:"modelUsage"`   // of a line of type cost-state: of the session so far
	StartTime    float64               `json:"startTime"`    // since when ModelUsage counts, Unix ms

	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Usage   messageUsage    `json:"usage"`
		Content json.RawMessage `json:"content"` // a text, or blocks
	} `json:"message"`
}

type messageUsage struct {
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
}

type modelUsage struct {
	Input      float64 `json:"inputTokens"`
	Output     float64 `json:"outputTokens"`
	CacheRead  float64 `json:"cacheReadInputTokens"`
	CacheWrite float64 `json:"cacheCreationInputTokens"`
	CostUSD    float64 `json:"costUSD"`
}

// IsCopy reports whether Claude Code marks the line as a copy from another session.
func (l *Line) IsCopy() bool { return len(l.ForkedFrom) > 0 && string(l.ForkedFrom) != "null" }

// EachLine calls add with each line that is not empty, without the space around it. A line of more than
// MaxLine bytes is nil. add must not retain the line. The errors are those of r.
func EachLine(r io.Reader, add func(text []byte)) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		line = line[:0]
		isTooLong := false
		part, err := lines.ReadSlice('\n')
		for ; errors.Is(err, bufio.ErrBufferFull); part, err = lines.ReadSlice('\n') {
			if isTooLong = isTooLong || len(line)+len(part) > MaxLine; !isTooLong {
				line = append(line, part...)
			}
		}
		if line = append(line, part...); isTooLong || len(line) > MaxLine {
			add(nil)
			line = nil
		} else if text := bytes.TrimSpace(line); len(text) > 0 {
			add(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Decode decodes a line. Members of other types than those of into stay zero. It returns false if the line
// is no JSON object.
func Decode(text []byte, into any) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	otherType := (*json.UnmarshalTypeError)(nil)
	err := json.Unmarshal(text, into)
	return err == nil || errors.As(err, &otherType) && json.Valid(text)
}
