package filter

import (
	"strconv"
	"strings"
)

// Event is the input of a filter: an event in its stored parts, as a list shows it.
type Event struct {
	ID                       int64
	App, Session, Type, Tool string
	Envelope                 []byte // members without the braces, including the names above
	Payload                  []byte
	Question, Status         []byte // nil: not a question
	Rating                   Rating
	Transcript               string // the TranscriptText of its transcript; empty without one
}

// Rating is the hub's rating of the tool call that an event starts. Without one it is zero.
type Rating struct{ Risk, Decided, Outcome string }

// maxTextUnits limits how much of a payload and a question is searched for words, in UTF-16 code
// units, like the length of a JavaScript string.
const maxTextUnits = 8000

// eventView is an event whose parts are decoded when a term first needs them.
type eventView struct {
	*Event
	foldedText                          string
	envelope, payload, question, status lazyValue
}

type lazyValue struct {
	value *jsonValue
	read  bool
}

func (l *lazyValue) get(raw []byte) *jsonValue {
	if !l.read {
		l.value, l.read = parseJSON(raw), true
	}
	return l.value
}

// envelopeMember returns the member summary, error or model_name.
func (r *eventView) envelopeMember(name string) *jsonValue {
	if !r.envelope.read {
		object := make([]byte, 0, len(r.Envelope)+2)
		object = append(append(append(object, '{'), r.Envelope...), '}')
		r.envelope = lazyValue{value: parseMembers(object, "summary", "error", "model_name"), read: true}
	}
	return r.envelope.value.member(name)
}

func (r *eventView) payloadValue() *jsonValue  { return r.payload.get(r.Payload) }
func (r *eventView) questionValue() *jsonValue { return r.question.get(r.Question) }
func (r *eventView) statusValue() *jsonValue   { return r.status.get(r.Status) }

// fields maps the known keys to functions that return the value, or nil.
var fields = map[string]func(r *eventView) *jsonValue{
	"agent":    func(r *eventView) *jsonValue { return newString(r.App) },
	"app":      func(r *eventView) *jsonValue { return newString(r.App) },
	"session":  func(r *eventView) *jsonValue { return newString(r.Session) },
	"type":     func(r *eventView) *jsonValue { return newString(r.Type) },
	"tool":     (*eventView).tool,
	"model":    func(r *eventView) *jsonValue { return r.envelopeMember("model_name") },
	"id":       func(r *eventView) *jsonValue { return newString(strconv.FormatInt(r.ID, 10)) },
	"error":    func(r *eventView) *jsonValue { return newString(r.envelopeMember("error").stringValue()) },
	"kind":     func(r *eventView) *jsonValue { return r.questionValue().member("type") },
	"status":   func(r *eventView) *jsonValue { return r.statusValue().member("status") },
	"delivery": func(r *eventView) *jsonValue { return r.statusValue().member("delivery").member("state") },
}

func newString(s string) *jsonValue { return &jsonValue{kind: '"', text: s} }

// tool returns the event's tool. Clients put the name in different places.
func (r *eventView) tool() *jsonValue {
	if r.Tool != "" {
		return newString(r.Tool)
	}
	if name := r.questionValue().member("toolCall").member("name"); name.stringValue() != "" {
		return name
	}
	if name := r.payloadValue().member("tool_name"); name != nil && name.kind == '"' {
		return name
	}
	return nil
}

// risk returns the hub's estimate, otherwise the agent's.
func (r *eventView) risk() *jsonValue {
	if estimate := r.statusValue().member("risk"); estimate != nil {
		return estimate
	}
	return r.questionValue().member("risk")
}

// ratedFields maps the keys about tool calls to functions that return the value of the question, or
// nil, and the value of the rating, or "".
var ratedFields = map[string]func(r *eventView) (*jsonValue, string){
	"risk":    func(r *eventView) (*jsonValue, string) { return r.risk(), r.Rating.Risk },
	"decided": func(r *eventView) (*jsonValue, string) { return nil, r.Rating.Decided },
	"outcome": func(r *eventView) (*jsonValue, string) { return r.statusValue().member("outcome"), r.Rating.Outcome },
}

// anyValue reports whether fn is true for any value of key.
func (r *eventView) anyValue(key string, fn func(text string) bool) bool {
	if field, rated := ratedFields[key]; rated {
		asked, rating := field(r)
		return asked.anyMatch(fn) || rating != "" && fn(rating)
	}
	if field, known := fields[key]; known {
		return field(r).anyMatch(fn)
	}
	path := strings.Split(key, ".")
	found := r.payloadValue().lookup(path)
	if found == nil {
		found = r.payloadValue().member("tool_input").lookup(path)
	}
	return found.anyMatch(fn)
}

// searchText returns the folded text that words are searched for in.
func (r *eventView) searchText() string {
	if r.foldedText == "" {
		parts := r.names()
		budget := collectScalars(r.questionValue(), &parts, maxTextUnits)
		collectScalars(r.payloadValue(), &parts, budget)
		r.foldedText = Fold(strings.Join(parts, "\n"))
	}
	return r.foldedText
}

// names returns the event's names and the texts of its row in the stream.
func (r *eventView) names() []string {
	return []string{
		r.App, r.Session, r.Type, r.tool().stringValue(),
		r.envelopeMember("summary").stringValue(), r.envelopeMember("error").stringValue(), r.summaryLine(),
	}
}

// collectScalars appends the scalars in v, up to budget UTF-16 units, and returns the remaining
// budget.
func collectScalars(v *jsonValue, into *[]string, budget int) int {
	v.anyMatch(func(text string) bool {
		if budget <= 0 {
			return true
		}
		part, units := truncateUTF16(text, budget)
		*into = append(*into, part)
		budget -= units
		return false
	})
	return budget
}

// summaryLine returns a one-line summary of the event, like the function of the same name in the dashboard.
func (r *eventView) summaryLine() string {
	for _, candidate := range []*jsonValue{r.envelopeMember("summary"), r.questionValue().member("question"), r.envelopeMember("error")} {
		if s := candidate.stringValue(); s != "" {
			return s
		}
	}
	payload := r.payloadValue()
	if text := firstText(payload.member("tool_input")); text != "" {
		return text
	}
	for _, name := range [...]string{"prompt", "message", "error", "last_assistant_message", "reason", "source"} {
		if s := payload.member(name).stringValue(); s != "" {
			return s
		}
	}
	return ""
}

// firstText returns the first text among the arguments of a tool call, which may be a list of words.
func firstText(arguments *jsonValue) string {
	if arguments == nil || arguments.kind != '{' {
		return ""
	}
	for i := range arguments.children {
		words := []jsonValue{arguments.children[i]}
		if words[0].kind == '[' {
			words = words[0].children
		}
		texts := make([]string, len(words))
		isText := true
		for j := range words {
			texts[j] = words[j].text
			isText = isText && words[j].kind == '"'
		}
		if text := strings.Join(texts, " "); isText && text != "" {
			return text
		}
	}
	return ""
}

// IndexText appends every text of e that a term can match, folded and each followed by a line
// break. It leaves out the id, and the status of a question, which changes after the event is stored.
func IndexText(dst []byte, e *Event) []byte {
	r := eventView{Event: e}
	parts := append(r.names(), r.envelopeMember("model_name").stringValue())
	collectScalars(r.questionValue(), &parts, int(^uint(0)>>1))
	collectScalars(r.payloadValue(), &parts, int(^uint(0)>>1))
	for _, part := range parts {
		dst = append(appendFold(dst, part), '\n')
	}
	return dst
}
