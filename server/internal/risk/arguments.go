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
	duplicateKey     = rule{"obfuscated", high, "It gives the same argument twice: which of the two counts is anybody's guess."}
	tooManyArguments = rule{"unreadable", medium, "It has more arguments than the rules look at: read it yourself with care."}
)

// maxTokens is how many pieces of JSON are read of a call.
const maxTokens = 1 << 16

// argument is a string of the arguments.
type argument struct {
	name   string // of the member that holds it, or its list
	source *source
}

// argumentReader goes through the JSON of a call and hands out its strings.
type argumentReader struct {
	dec            *jsontext.Decoder
	tokens         int
	onString       func(a argument)
	onList         func(name string, texts []*source) // the strings of a list
	onDuplicateKey func(at string)                    // the object there has a name twice
}

var errTooManyArguments = errors.New("too many arguments")

// readValue walks one value, and returns it when it is a string. What is no JSON ends
// the walk.
func (r *argumentReader) readValue(name, at string) (*source, error) {
	if r.tokens++; r.tokens > maxTokens {
		return nil, errTooManyArguments
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return &source{text: token.String(), pointer: at}, nil
	case '{':
		return nil, r.readObject(at)
	case '[':
		return nil, r.readArray(name, at)
	default:
		return nil, nil
	}
}

func (r *argumentReader) readObject(at string) error {
	seen := map[string]bool{}
	for r.dec.PeekKind() != '}' {
		key, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		if seen[name] {
			r.onDuplicateKey(at)
		}
		seen[name] = true
		text, err := r.readValue(name, childPointer(at, name))
		if err != nil {
			return err
		}
		if text != nil {
			r.onString(argument{name, text})
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func (r *argumentReader) readArray(name, at string) error {
	var texts []*source
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		text, err := r.readValue(name, childPointer(at, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if text != nil {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		r.onList(name, texts)
	}
	_, err := r.dec.ReadToken()
	return err
}

// enterCallDir goes to the folder that a call names for its commands. Where nothing else is
// known of it, that is where the agent works.
func (a *assessor) enterCallDir(k toolKind, arguments json.RawMessage) {
	if k != shellTool && k != pwshTool && k != cmdTool {
		return
	}
	for _, to := range callDirs(arguments) {
		if a.cwd == "" {
			a.workingDir = newWorkingDir(to)
		}
		a.callScope = &scope{resolved: true}
		switch {
		case isAbsolute(to):
			a.callScope.dir = path.Clean(to)
		case a.cwd != "":
			a.callScope.dir = path.Join(a.cwd, to)
		}
	}
}

// assessCall judges a tool call.
func (a *assessor) assessCall(tool string, arguments json.RawMessage) {
	k := toolKindOf(tool)
	a.assessToolName(tool, k)
	a.enterCallDir(k, arguments)
	// What is no text or is said twice is a finding, or none, but not the end.
	r := &argumentReader{dec: jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	r.onString = func(arg argument) { a.assessArgument(k, arg) }
	r.onList = func(name string, texts []*source) { a.assessList(k, name, texts) }
	r.onDuplicateKey = func(at string) { a.add(duplicateKey, span{&source{pointer: at}, 0, 0}) }
	text, err := r.readValue("", "")
	if text != nil {
		a.assessArgument(k, argument{"", text})
	}
	if errors.Is(err, errTooManyArguments) {
		a.add(tooManyArguments, span{})
	}
}
