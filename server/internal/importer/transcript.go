package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/intent"
)

const (
	// maxLine limits a line of a transcript, in bytes. A longer one counts as unreadable.
	maxLine = 32 << 20
	// maxChat limits the chat of an event, in bytes as it is sent.
	maxChat = 6 << 20
	// maxChatLine limits a line of the chat: one with images can be larger than all others together.
	maxChatLine = 512 << 10
	// maxModels limits the models of a session. The usage of further ones is that of an unknown model.
	maxModels = 50
	// formatVersion is part of the hash: a new one imports every session again.
	formatVersion = "1"

	quarterMS = 15 * 60 * 1000
)

// transcript collects the facts of one session from its files.
type transcript struct {
	history.ImportedSession
	hash     hash.Hash
	requests map[string]request // by message
	calls    map[string]call    // that have no result, by id
	tools    map[string]history.ImportedTool
	files    map[string]*history.ChangedFile
	agents   map[string]bool
	stated   float64 // the cost of the session as the transcript states it
	titles   [3]string
	chat     chat
}

// Places in transcript.titles, the best first.
const (
	customTitle = iota
	firstPrompt
	summaryTitle
)

// request is one request to a model. Its message spans several lines, and the last one has its usage.
type request struct {
	at    int64 // Unix ms
	model string
	usage usage
	cost  float64
}

// call is a tool call that the model requested.
type call struct {
	tool  string
	input json.RawMessage
}

func newTranscript() *transcript {
	t := &transcript{
		hash: sha256.New(), requests: map[string]request{}, calls: map[string]call{}, tools: map[string]history.ImportedTool{},
		files: map[string]*history.ChangedFile{}, agents: map[string]bool{},
	}
	_, _ = io.WriteString(t.hash, formatVersion)
	return t
}

// line has the members of a line of Claude Code that count here. The format is not documented: a line of
// another form has nothing.
type line struct {
	Type         string          `json:"type"`
	UUID         string          `json:"uuid"`
	Timestamp    time.Time       `json:"timestamp"`
	Cwd          string          `json:"cwd"`
	Branch       string          `json:"gitBranch"`
	AgentID      string          `json:"agentId"`
	Sidechain    bool            `json:"isSidechain"` // of a subagent
	Meta         bool            `json:"isMeta"`
	Compacted    bool            `json:"isCompactSummary"`
	ForkedFrom   json.RawMessage `json:"forkedFrom"` // the line is a copy from another session
	CostUSD      float64         `json:"costUSD"`
	TotalCostUSD float64         `json:"totalCostUSD"`
	CustomTitle  string          `json:"customTitle"`
	AITitle      string          `json:"aiTitle"`
	Summary      string          `json:"summary"`
	Message      struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Usage   usage           `json:"usage"`
		Content json.RawMessage `json:"content"` // a text, or blocks
	} `json:"message"`
}

type usage struct {
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

// read adds a file. isMain is set for that of the session itself, whose lines make the chat.
func (t *transcript) read(file io.Reader, isMain bool) error {
	lines := bufio.NewReaderSize(io.TeeReader(file, t.hash), 64<<10)
	for {
		text, tooLong, err := readLine(lines)
		if text = bytes.TrimSpace(text); tooLong || len(text) > 0 {
			t.Lines++
			if tooLong || !t.add(text, isMain) {
				t.UnreadableLines++
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line, or that it is longer than maxLine.
func readLine(r *bufio.Reader) (text []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxLine; tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, tooLong, err
		}
	}
}

// add adds a line. It returns false if the line can't be read.
func (t *transcript) add(text []byte, isMain bool) bool {
	text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	var l line
	wrongType := (*json.UnmarshalTypeError)(nil)
	if err := json.Unmarshal(text, &l); text[0] != '{' || err != nil && !(errors.As(err, &wrongType) && json.Valid(text)) {
		return false
	}
	if isMain {
		t.chat.add(l.Type, text)
	}
	if l.ForkedFrom != nil && string(l.ForkedFrom) != "null" {
		return true
	}
	at := l.Timestamp.UnixMilli()
	if l.Timestamp.IsZero() || at <= 0 {
		at = int64(t.EndedAt)
	}
	if at > 0 {
		t.StartedAt = schema.Millis(min(cmp.Or(int64(t.StartedAt), at), at))
		t.EndedAt = max(t.EndedAt, schema.Millis(at))
	}
	t.Cwd = cmp.Or(t.Cwd, l.Cwd)
	t.Branch = cmp.Or(l.Branch, t.Branch)
	t.stated = max(t.stated, l.TotalCostUSD)
	t.addTitle(&l)
	if l.AgentID != "" && (l.Sidechain || !isMain) {
		t.agents[l.AgentID] = true
	}
	switch l.Type {
	case "assistant":
		t.addRequest(&l, at, isMain)
		for _, b := range blocksOf(l.Message.Content) {
			if b.Type == "tool_use" && b.ID != "" {
				t.calls[b.ID] = call{b.Name, b.Input}
			}
		}
	case "user":
		for _, b := range blocksOf(l.Message.Content) {
			if b.Type == "tool_result" {
				t.endCall(&b, at)
			}
		}
	}
	return true
}

func (t *transcript) addTitle(l *line) {
	for place, text := range map[int]string{customTitle: l.CustomTitle, summaryTitle: cmp.Or(l.AITitle, l.Summary)} {
		if text != "" && (place != summaryTitle || t.titles[place] == "") {
			t.titles[place] = text
		}
	}
	if t.titles[firstPrompt] != "" || l.Type != "user" || l.Meta || l.Compacted || l.Sidechain {
		return
	}
	text := strings.TrimSpace(textOf(l.Message.Content))
	if !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "[Request interrupted") { // written by the agent's program
		t.titles[firstPrompt] = text
	}
}

func (t *transcript) addRequest(l *line, at int64, isMain bool) {
	u, model := l.Message.Usage, l.Message.Model
	if u == (usage{}) && l.CostUSD <= 0 {
		return
	}
	if isMain && !l.Sidechain {
		t.Model = cmp.Or(model, t.Model)
	}
	t.requests[cmp.Or(l.Message.ID, l.UUID, strconv.FormatInt(t.Lines, 10))] = request{at, model, u, l.CostUSD}
}

// endCall counts a call that ended, as hooks report it: not one that a person refused or interrupted.
func (t *transcript) endCall(result *block, at int64) {
	c, known := t.calls[result.ToolUseID]
	if !known {
		return // counted already
	}
	delete(t.calls, result.ToolUseID)
	if text := textOf(result.Content); strings.HasPrefix(text, "The user doesn't want to") || strings.HasPrefix(text, "[Request interrupted") {
		return
	}
	tool := t.tools[c.tool]
	tool.Tool = c.tool
	tool.Calls++
	if result.IsError {
		tool.Failures++
	} else {
		for _, change := range intent.Files(c.tool, c.input) {
			t.addFile(&change, at)
		}
	}
	t.tools[c.tool] = tool
}

// changes are the values of history.ChangedFile.Change.
var changes = map[string]string{intent.VerbEdit: "edited", intent.VerbWrite: "written", intent.VerbDelete: "deleted"}

func (t *transcript) addFile(change *intent.FileChange, at int64) {
	f := t.files[change.Path]
	if f == nil {
		f = &history.ChangedFile{Path: change.Path, Events: []schema.EventID{}}
		t.files[change.Path] = f
	}
	f.Change, f.LastAt = changes[change.Verb], schema.Millis(at)
	f.Added, f.Removed, f.Calls = f.Added+int64(change.Added), f.Removed+int64(change.Removed), f.Calls+1
}

// finish returns the session after its last file was read.
func (t *transcript) finish() (*history.ImportedSession, json.RawMessage) {
	in := &t.ImportedSession
	in.Hash = hex.EncodeToString(t.hash.Sum(nil)[:16])
	in.Title = cmp.Or(t.titles[:]...)
	in.Agents = int64(len(t.agents))
	in.Usage = t.usageByQuarter()
	in.Tools = slices.SortedFunc(maps.Values(t.tools), func(a, b history.ImportedTool) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	in.Tools = in.Tools[:min(len(in.Tools), history.MaxImportedTools)]
	for _, f := range t.files {
		in.Files = append(in.Files, *f)
	}
	slices.SortFunc(in.Files, func(a, b history.ChangedFile) int {
		return cmp.Or(cmp.Compare(b.LastAt, a.LastAt), cmp.Compare(a.Path, b.Path))
	})
	shown := min(len(in.Files), history.MaxFiles)
	in.Files, in.MoreFiles = in.Files[:shown], int64(len(in.Files)-shown)
	in.ChatCut = t.chat.cut
	return in, t.chat.json()
}

// usageByQuarter returns the usage by quarter-hour and model, or by longer periods if there are too many.
func (t *transcript) usageByQuarter() []history.ImportedUsage {
	type key struct {
		at    int64
		model string
	}
	for unit := int64(quarterMS); ; unit *= 4 {
		sums, models, cost := map[key]history.ImportedUsage{}, map[string]bool{}, 0.0
		for _, id := range slices.Sorted(maps.Keys(t.requests)) {
			r := t.requests[id]
			if len(models) >= maxModels && !models[r.model] {
				r.model = ""
			}
			models[r.model] = true
			k := key{r.at - r.at%unit, r.model}
			sum := sums[k]
			sum.At, sum.Model, sum.Requests = schema.Millis(k.at), k.model, sum.Requests+1
			sum.Tokens, sum.CostUSD = sum.Tokens.Add(r.usage.tokens()), sum.CostUSD+r.cost
			sums[k], cost = sum, cost+r.cost
		}
		if rest := t.stated - cost; rest > 1e-9 { // the total of the session, without its parts
			k := key{int64(t.EndedAt) - int64(t.EndedAt)%unit, t.Model}
			sum := sums[k]
			sum.At, sum.Model, sum.CostUSD = schema.Millis(k.at), k.model, sum.CostUSD+rest
			sums[k] = sum
		}
		if len(sums) <= history.MaxImportedUsage || unit > 1<<50 {
			return slices.SortedFunc(maps.Values(sums), func(a, b history.ImportedUsage) int {
				return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Model, b.Model))
			})
		}
	}
}

func (u usage) tokens() history.Tokens {
	return history.Tokens{Input: int64(u.Input), Output: int64(u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}
}

func blocksOf(content json.RawMessage) (blocks []block) {
	if len(content) == 0 || content[0] != '[' {
		return nil
	}
	_ = json.Unmarshal(content, &blocks) // blocks of other forms have nothing
	return blocks
}

// textOf returns the text of a message or of a result.
func textOf(content json.RawMessage) string {
	var text string
	if len(content) > 0 && content[0] == '"' {
		_ = json.Unmarshal(content, &text)
		return text
	}
	var texts []string
	for _, b := range blocksOf(content) {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// chat holds the newest messages of a transcript, at most maxChat bytes.
type chat struct {
	lines [][]byte
	bytes int
	cut   bool
}

// chatMembers are the members of a line that its message has. Others repeat large results, or are about
// the agent's own storage.
var chatMembers = []string{"type", "timestamp", "message", "isSidechain", "isMeta", "isCompactSummary", "summary", "subtype", "content"}

func (c *chat) add(kind string, text []byte) {
	if !slices.Contains([]string{"user", "assistant", "system", "summary"}, kind) {
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(chatMembers, name) })
	message, err := json.Marshal(all)                                                     // with the escapes of the event
	if err != nil || len(message) > maxChatLine || depthOf(message) > schema.MaxDepth-2 { // the hub would refuse the event
		c.cut = true
		return
	}
	c.lines, c.bytes = append(c.lines, message), c.bytes+len(message)+1
	for c.bytes > maxChat {
		c.bytes -= len(c.lines[0]) + 1
		c.lines[0] = nil
		c.lines, c.cut = c.lines[1:], true
	}
}

// depthOf returns how deep the objects and lists of a JSON value are nested.
func depthOf(value []byte) (deepest int) {
	depth, inText := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\':
			i++ // only in a text
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// json returns the messages as a list; nil without any.
func (c *chat) json() json.RawMessage {
	if len(c.lines) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(c.lines, []byte(",")), []byte("]"))
}
