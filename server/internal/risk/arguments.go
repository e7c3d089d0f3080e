package risk

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hookback/hookback/server/internal/risk/call"
	"github.com/hookback/hookback/server/internal/risk/paths"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

var (
	duplicateKey     = rule{"obfuscated", high, "It contains the same argument twice. Which value applies depends on the parser."}
	secondName       = rule{"obfuscated", high, "It contains the same argument under two names. Which one applies depends on the agent."}
	tooManyArguments = rule{"unreadable", high, "It has more arguments than the rules can check. Read it carefully yourself."}
)

// maxTokens is the maximum number of JSON tokens read per call.
const maxTokens = 1 << 16

// argument is a string value in the arguments of a call.
type argument struct {
	name   string // name of the member that holds the string or its array
	source *shell.Source
}

// argumentReader traverses the JSON arguments of a call and passes each string to a callback.
type argumentReader struct {
	dec      *jsontext.Decoder
	kind     call.Kind
	tokens   int
	onString func(a argument)
	onList   func(name string, texts []*shell.Source) // the strings of an array
	onRepeat func(found rule, at string)              // the object at this pointer has an argument more than once
}

var errTooManyArguments = errors.New("too many arguments")

// readValue consumes one value and returns it if it is a string. Invalid JSON ends the traversal
// with an error.
func (r *argumentReader) readValue(name, at string) (*shell.Source, error) {
	if r.tokens++; r.tokens > maxTokens {
		return nil, errTooManyArguments
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return &shell.Source{Text: token.String(), Pointer: at}, nil
	case '{':
		return nil, r.readObject(at)
	case '[':
		return nil, r.readArray(name, at)
	default:
		return nil, nil
	}
}

func (r *argumentReader) readObject(at string) error {
	seen, spelled := map[string]bool{}, map[string]bool{} // by exact and by normalized name
	for r.dec.PeekKind() != '}' {
		key, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		switch plain := call.NormalizeName(name); {
		case seen[name]:
			r.onRepeat(duplicateKey, at)
		case spelled[plain] && (at == "" || call.IsCommandName(plain) || call.IsPathName(plain)):
			r.onRepeat(secondName, at)
		default:
			spelled[plain] = true
		}
		seen[name] = true
		text, err := r.readValue(name, shell.ChildPointer(at, name))
		if err != nil {
			return err
		}
		if text != nil {
			r.onString(argument{name, text})
		}
	}
	if at == "" && r.hasSynonyms(spelled) {
		r.onRepeat(secondName, at)
	}
	_, err := r.dec.ReadToken()
	return err
}

// hasSynonyms reports whether more than one of the normalized names is the command that a shell tool
// runs, or the file that a tool reads or writes. A destination goes with another path.
func (r *argumentReader) hasSynonyms(names map[string]bool) bool {
	is := call.IsPathName
	switch r.kind {
	case call.Shell, call.PowerShell, call.Cmd:
		is = call.IsCommandName
	case call.Read, call.Write:
	default:
		return false
	}
	count := 0
	for name := range names {
		if is(name) && name != "destination" && name != "dest" {
			count++
		}
	}
	return count > 1
}

func (r *argumentReader) readArray(name, at string) error {
	var texts []*shell.Source
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		text, err := r.readValue(name, shell.ChildPointer(at, strconv.Itoa(i)))
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

// enterCallDir changes to the directory that a call to a shell tool names for its command. If the
// agent's directory is unknown, that directory also becomes the working directory.
func (a *assessor) enterCallDir(k call.Kind, arguments json.RawMessage) {
	if k != call.Shell && k != call.PowerShell && k != call.Cmd {
		return
	}
	for _, to := range call.Dirs(arguments) {
		if a.CWD == "" {
			a.WorkingDir = paths.NewWorkingDir(to)
		}
		a.callScope = &shell.Scope{Resolved: true}
		switch {
		case paths.IsAbsolute(to):
			a.callScope.Dir = path.Clean(to)
		case a.CWD != "":
			a.callScope.Dir = path.Join(a.CWD, to)
		}
	}
}

// assessCall assesses a tool call: its name, then its arguments.
func (a *assessor) assessCall(tool string, arguments json.RawMessage) {
	k := call.KindOf(tool)
	a.assessToolName(tool, k)
	a.enterCallDir(k, arguments)
	// Invalid UTF-8 and duplicate names must not end the assessment, so the decoder allows both.
	dec := jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r := &argumentReader{dec: dec, kind: k}
	r.onString = func(arg argument) { a.assessArgument(k, arg) }
	r.onList = func(name string, texts []*shell.Source) { a.assessList(k, name, texts) }
	r.onRepeat = func(found rule, at string) { a.add(found, (&shell.Source{Pointer: at}).Slice(0, 0)) }
	text, err := r.readValue("", "")
	if text != nil {
		a.assessArgument(k, argument{"", text})
	}
	if errors.Is(err, errTooManyArguments) {
		a.add(tooManyArguments, shell.Span{})
	}
	if a.packageFile != nil && a.writesScripts {
		a.add(runsLater, *a.packageFile)
	}
}
