package policy

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errNoRules = errors.New("the policy has no rules")

// NewFile is the text of a policy without rules.
const NewFile = "{\n  \"rules\": [\n  ]\n}\n"

// Insert returns the text of a policy with another rule at the end of its list. It changes no other byte, and
// checks nothing but that there is a list.
func Insert(text []byte, rule string) ([]byte, error) {
	end, isEmpty, err := endOfRules(text)
	if err != nil {
		return nil, err
	}
	last := len(bytes.TrimRight(text[:end], " \t\r\n")) // after the last rule or the bracket
	separator, indent := ",", "    "
	if isEmpty {
		separator = ""
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	rest := text[last:]
	if !bytes.Contains(text[last:end], []byte("\n")) { // the bracket is on the same line
		rest = append([]byte(newline+"  "), bytes.TrimLeft(text[last:], " \t")...)
	}
	out := append(bytes.Clone(text[:last]), separator+newline+indent+rule...)
	return append(out, rest...), nil
}

// endOfRules returns the index of the bracket that closes the list of rules, and whether the list
// is empty.
func endOfRules(text []byte) (end int, isEmpty bool, err error) {
	bom := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	d := json.NewDecoder(bytes.NewReader(text[bom:]))
	if open, _ := d.Token(); open != json.Delim('{') {
		return 0, false, errNoRules
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return 0, false, err
		}
		if name != "rules" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return 0, false, err
			}
			continue
		}
		if open, _ := d.Token(); open != json.Delim('[') {
			return 0, false, errNoRules
		}
		n := 0
		for ; d.More(); n++ {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return 0, false, err
			}
		}
		if _, err := d.Token(); err != nil {
			return 0, false, err
		}
		return bom + int(d.InputOffset()) - 1, n == 0, nil
	}
	return 0, false, errNoRules
}
