package filter

import (
	"strconv"
	"strings"
)

// Event is what a filter looks at: an event in the pieces it is stored in, as a
// list shows it.
type Event struct {
	ID                       int64
	App, Session, Type, Tool string
	Envelope                 []byte // members without braces; the names above among them
	Payload                  []byte
	Question, Status         []byte // nil: it asks nothing
}

// maxText is how much of a payload and a question words are looked for in, in the
// units of JavaScript's strings.
const maxText = 8000

// row is an event whose pieces are read once, when a term asks for them.
type row struct {
	*Event
	folded                              string
	envelope, payload, question, status lazy
}

type lazy struct {
	value *value
	read  bool
}

func (l *lazy) get(raw []byte) *value {
	if !l.read {
		l.value, l.read = decode(raw), true
	}
	return l.value
}

func (r *row) env(name string) *value {
	if !r.envelope.read {
		whole := make([]byte, 0, len(r.Envelope)+2)
		r.envelope.get(append(append(append(whole, '{'), r.Envelope...), '}'))
	}
	return r.envelope.value.member(name)
}

func (r *row) body() *value  { return r.payload.get(r.Payload) }
func (r *row) asked() *value { return r.question.get(r.Question) }
func (r *row) state() *value { return r.status.get(r.Status) }

// fields are the keys that are known by name; nil is no value.
var fields = map[string]func(r *row) *value{
	"agent":    func(r *row) *value { return text(r.App) },
	"app":      func(r *row) *value { return text(r.App) },
	"session":  func(r *row) *value { return text(r.Session) },
	"type":     func(r *row) *value { return text(r.Type) },
	"tool":     (*row).tool,
	"model":    func(r *row) *value { return r.env("model_name") },
	"id":       func(r *row) *value { return text(strconv.FormatInt(r.ID, 10)) },
	"error":    func(r *row) *value { return text(r.env("error").str()) },
	"kind":     func(r *row) *value { return r.asked().member("type") },
	"risk":     (*row).risk,
	"status":   func(r *row) *value { return r.state().member("status") },
	"outcome":  func(r *row) *value { return r.state().member("outcome") },
	"delivery": func(r *row) *value { return r.state().member("delivery").member("state") },
}

func text(s string) *value { return &value{kind: '"', text: s} }

// tool is the tool an event is about, wherever its client put the name.
func (r *row) tool() *value {
	if r.Tool != "" {
		return text(r.Tool)
	}
	if name := r.asked().member("toolCall").member("name"); name.str() != "" {
		return name
	}
	if name := r.body().member("tool_name"); name != nil && name.kind == '"' {
		return name
	}
	return nil
}

// risk is the hub's estimate, else the agent's.
func (r *row) risk() *value {
	if own := r.state().member("risk"); own != nil {
		return own
	}
	return r.asked().member("risk")
}

// values reports whether fn holds for a value of key.
func (r *row) values(key string, fn func(text string) bool) bool {
	if field, known := fields[key]; known {
		return field(r).some(fn)
	}
	path := strings.Split(key, ".")
	found := r.body().dig(path)
	if found == nil {
		found = r.body().member("tool_input").dig(path)
	}
	return found.some(fn)
}

// text is what words are looked for in, folded.
func (r *row) text() string {
	if r.folded == "" {
		parts := r.lines()
		budget := collect(r.asked(), &parts, maxText)
		collect(r.body(), &parts, budget)
		r.folded = Fold(strings.Join(parts, "\n"))
	}
	return r.folded
}

// lines are an event's names and what its row in the stream says.
func (r *row) lines() []string {
	return []string{
		r.App, r.Session, r.Type, r.tool().str(),
		r.env("summary").str(), r.env("error").str(), r.line(),
	}
}

// collect appends the scalars in v, up to budget, and returns what is left of it.
func collect(v *value, into *[]string, budget int) int {
	v.some(func(text string) bool {
		if budget <= 0 {
			return true
		}
		part, units := cut(text, budget)
		*into = append(*into, part)
		budget -= units
		return false
	})
	return budget
}

// line says in one line what happened, as the dashboard's lineOf does.
func (r *row) line() string {
	for _, own := range []*value{r.env("summary"), r.asked().member("question"), r.env("error")} {
		if s := own.str(); s != "" {
			return s
		}
	}
	payload := r.body()
	if gist, ok := gist(payload.member("tool_input")); ok {
		return gist
	}
	for _, name := range [...]string{"prompt", "message", "error", "last_assistant_message", "reason", "source"} {
		if s := payload.member(name).str(); s != "" {
			return s
		}
	}
	return ""
}

// gist is the part of a tool's arguments that says most, such as the command.
func gist(args *value) (string, bool) {
	for _, name := range [...]string{
		"command", "cmd", "script", "file_path", "notebook_path", "pattern", "path", "url", "query", "prompt", "description",
	} {
		value := args.member(name)
		switch {
		case value == nil:
		case value.kind == '[':
			words := make([]string, len(value.inner))
			for i := range value.inner {
				words[i] = value.inner[i].joined()
			}
			return strings.Join(words, " "), true
		case value.str() != "":
			return value.text, true
		}
	}
	return "", false
}

// IndexText appends every text that a term other than of a question's status can
// match in e, folded and with a line break between any two. An index of it has no
// need of the status, which changes.
func IndexText(dst []byte, e *Event) []byte {
	r := row{Event: e}
	parts := append(r.lines(), r.env("model_name").str())
	collect(r.asked(), &parts, int(^uint(0)>>1))
	collect(r.body(), &parts, int(^uint(0)>>1))
	for _, part := range parts {
		dst = append(append(dst, Fold(part)...), '\n')
	}
	return dst
}
