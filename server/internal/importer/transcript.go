package importer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

const (
	// maxChat limits the chat of an event, in bytes as it is sent.
	maxChat = 6 << 20
	// maxChatLine limits a line of the chat: one with images can be larger than all others together.
	maxChatLine = 512 << 10
	// maxModels limits the models of a session. The usage of further ones is that of an unknown model.
	maxModels = 50
	// formatVersion is part of the hash: a new one imports every session again.
	formatVersion = "2"

	quarterMS = 15 * 60 * 1000
)

// transcript collects the facts of one session from its files.
type transcript struct {
	history.ImportedSession
	id     string
	books  *usage.Books
	usage  []history.ImportedUsage
	hash   hash.Hash
	file   int             // number of files so far
	seen   map[string]int  // the files of the lines, by id: a session that is resumed elsewhere has copies
	calls  map[string]call // that have no result, by id
	tools  map[string]history.ImportedTool
	files  map[string]*history.ChangedFile
	agents map[string]bool
	titles [3]string
	chat   chat
}

// Places in transcript.titles, the best first.
const (
	customTitle = iota
	firstPrompt
	summaryTitle
)

// call is a tool call that the model requested.
type call struct {
	tool  string
	input json.RawMessage
}

// newTranscript returns a transcript without lines. The books have all files.
func newTranscript(id string, books *usage.Books) *transcript {
	t := &transcript{
		id: id, books: books, usage: books.Of(id), hash: sha256.New(), seen: map[string]int{}, calls: map[string]call{},
		tools: map[string]history.ImportedTool{}, files: map[string]*history.ChangedFile{}, agents: map[string]bool{},
	}
	_, _ = io.WriteString(t.hash, formatVersion)
	_ = json.NewEncoder(t.hash).Encode(t.usage) // a copy of the session may count some of it
	return t
}

// line has the members of a line of Claude Code that count here.
type line struct {
	usage.Line
	Cwd         string `json:"cwd"`
	Branch      string `json:"gitBranch"`
	AgentID     string `json:"agentId"`
	Meta        bool   `json:"isMeta"`
	Compacted   bool   `json:"isCompactSummary"`
	CustomTitle string `json:"customTitle"`
	AITitle     string `json:"aiTitle"`
	Summary     string `json:"summary"`
}

type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

// read adds a file. Its lines belong to the session that they name, or else to owner. isMain is set for the
// file of a session itself, whose lines make the chat.
func (t *transcript) read(file io.Reader, owner string, isMain bool) error {
	t.file++
	return usage.EachLine(io.TeeReader(file, t.hash), func(text []byte) {
		t.Lines++
		if !t.add(bytes.ToValidUTF8(text, []byte("\ufffd")), owner, isMain) {
			t.UnreadableLines++
		}
	})
}

// add adds a line. It returns false if the line can't be read.
func (t *transcript) add(text []byte, owner string, isMain bool) bool {
	var l line
	if !usage.Decode(text, &l) {
		return false
	}
	first, isKnown := t.seen[l.UUID]
	if cmp.Or(l.SessionID, owner) != t.id || l.UUID != "" && isKnown && first != t.file {
		return true
	}
	t.seen[l.UUID] = t.file
	if isMain {
		t.chat.add(l.Type, text)
	}
	if l.IsCopy() {
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
	t.addTitle(&l)
	if l.AgentID != "" && (l.Sidechain || !isMain) {
		t.agents[l.AgentID] = true
	}
	switch l.Type {
	case "assistant":
		if isMain && !l.Sidechain && l.Message.Model != "<synthetic>" {
			t.Model = cmp.Or(l.Message.Model, t.Model)
		}
		if !t.books.Owns(t.id, &l.Line) {
			break // the session that it is a copy of has it
		}
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
	t.titles[firstPrompt] = usage.PersonText(usage.Texts(l.Message.Content))
}

// endCall counts a call that ended, as hooks report it: not one that a person refused or interrupted.
func (t *transcript) endCall(result *block, at int64) {
	c, known := t.calls[result.ToolUseID]
	if !known {
		return // counted already
	}
	delete(t.calls, result.ToolUseID)
	if text := strings.Join(usage.Texts(result.Content), "\n"); strings.HasPrefix(text, "The user doesn't want to") || strings.HasPrefix(text, "[Request interrupted") {
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
		sums, models := map[key]history.ImportedUsage{}, map[string]bool{}
		for _, u := range t.usage {
			if len(models) >= maxModels && !models[u.Model] {
				u.Model = ""
			}
			models[u.Model] = true
			k := key{int64(u.At) - int64(u.At)%unit, u.Model}
			sum := sums[k]
			sum.At, sum.Model, sum.Requests = schema.Millis(k.at), k.model, sum.Requests+u.Requests
			sum.Tokens, sum.CostUSD = sum.Tokens.Add(u.Tokens), sum.CostUSD+u.CostUSD
			sums[k] = sum
		}
		if len(sums) <= history.MaxImportedUsage || unit > 1<<50 {
			return slices.SortedFunc(maps.Values(sums), func(a, b history.ImportedUsage) int {
				return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Model, b.Model))
			})
		}
	}
}

func blocksOf(content json.RawMessage) (blocks []block) {
	if len(content) == 0 || content[0] != '[' {
		return nil
	}
	_ = json.Unmarshal(content, &blocks) // blocks of other forms have nothing
	return blocks
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
	message, err := json.Marshal(all)                                                          // with the escapes of the event
	if err != nil || len(message) > maxChatLine || schema.Depth(message) > schema.MaxDepth-2 { // the hub would refuse the event
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

// json returns the messages as a list; nil without any.
func (c *chat) json() json.RawMessage {
	if len(c.lines) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(c.lines, []byte(",")), []byte("]"))
}
