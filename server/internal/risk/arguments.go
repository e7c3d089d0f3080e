package risk

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	sameName = rule{"obfuscated", high, "It gives the same argument twice: which of the two counts is anybody's guess."}
	tooMany  = rule{"unreadable", medium, "It has more arguments than the rules look at: read it yourself with care."}
)

// maxTokens is how many pieces of JSON are read of a call.
const maxTokens = 1 << 16

// argument is a string of the arguments.
type argument struct {
	name string // of the member that holds it, or its list
	src  *source
}

// reader goes through the JSON of a call and hands out its strings.
type reader struct {
	dec    *jsontext.Decoder
	tokens int
	text   func(a argument)
	list   func(name string, texts []*source) // the strings of a list
	twice  func(at string)                    // the object there has a name twice
}

var errTooMany = errors.New("too many arguments")

// read walks one value, and returns it when it is a string. What is no JSON ends
// the walk.
func (r *reader) read(name, at string) (*source, error) {
	if r.tokens++; r.tokens > maxTokens {
		return nil, errTooMany
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return &source{text: token.String(), at: at}, nil
	case '{':
		return nil, r.object(at)
	case '[':
		return nil, r.array(name, at)
	default:
		return nil, nil
	}
}

func (r *reader) object(at string) error {
	seen := map[string]bool{}
	for r.dec.PeekKind() != '}' {
		key, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		if seen[name] {
			r.twice(at)
		}
		seen[name] = true
		text, err := r.read(name, below(at, name))
		if err != nil {
			return err
		}
		if text != nil {
			r.text(argument{name, text})
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func (r *reader) array(name, at string) error {
	var texts []*source
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		text, err := r.read(name, below(at, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if text != nil {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		r.list(name, texts)
	}
	_, err := r.dec.ReadToken()
	return err
}

// enter goes to the folder that a call names for its commands. Where nothing else is
// known of it, that is where the agent works.
func (j *judge) enter(k kind, arguments json.RawMessage) {
	if k != shellTool && k != pwshTool && k != cmdTool {
		return
	}
	for _, to := range folders(arguments) {
		if j.cwd == "" {
			j.place = newPlace(to)
		}
		j.at = &scope{entered: true}
		switch {
		case isAbsolute(to):
			j.at.dir = path.Clean(to)
		case j.cwd != "":
			j.at.dir = path.Join(j.cwd, to)
		}
	}
}

// call judges a tool call.
func (j *judge) call(tool string, arguments json.RawMessage) {
	k := kindOf(tool)
	j.toolName(tool, k)
	j.enter(k, arguments)
	// What is no text or is said twice is a finding, or none, but not the end.
	r := &reader{dec: jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	r.text = func(a argument) { j.argument(k, a) }
	r.list = func(name string, texts []*source) { j.list(k, name, texts) }
	r.twice = func(at string) { j.add(sameName, span{&source{at: at}, 0, 0}) }
	text, err := r.read("", "")
	if text != nil {
		j.argument(k, argument{"", text})
	}
	if errors.Is(err, errTooMany) {
		j.add(tooMany, span{})
	}
}
