package auth

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hookback/hookback/schema"
)

const maxName = 64

// reservedNames have another meaning in an answer or in the audit log.
var reservedNames = []string{LocalName, "hub", "the hub", "anyone", "owner", "owner_admins", "nobody"}

// validateNewName returns the normalized name of a new account, or an error if it is
// invalid, reserved or taken.
func (s *Service) validateNewName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return "", &schema.FieldError{Field: "name", Detail: "is required: it is shown on every answer"}
	case utf8.RuneCountInString(name) > maxName:
		return "", &schema.FieldError{Field: "name", Detail: "must have at most 64 characters"}
	case sanitize(name, len(name)) != name, strings.ContainsAny(name, `/\:"<>`):
		return "", &schema.FieldError{Field: "name", Detail: `must contain visible characters only, without / \ : " < >`}
	case slices.Contains(reservedNames, lower), strings.HasPrefix(lower, "rule "), strings.HasPrefix(lower, "__"):
		return "", &schema.FieldError{Field: "name", Detail: "is reserved by the hub"}
	case s.current.Load().findPerson(name) != nil:
		return "", &schema.FieldError{Field: "name", Detail: "belongs to another person"}
	case hasMixedScripts(name):
		return "", &schema.FieldError{Field: "name", Detail: "must use the letters of one script"}
	}
	for _, other := range s.personNames() {
		if skeletonOf(other) == skeletonOf(name) {
			return "", &schema.FieldError{Field: "name", Detail: "looks like " + other + ", who has an account"}
		}
	}
	return name, nil
}

func (s *Service) personNames() []string {
	var list []string
	for _, o := range s.current.Load().Persons {
		list = append(list, o.Name)
	}
	return list
}

// sanitize removes invisible characters and truncates text to most bytes.
func sanitize(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// lookalikes maps letters to the Latin letters that they look like. It covers Greek, Cyrillic,
// digits and Latin letters that are hard to tell apart; names of other scripts are compared
// unchanged.
var lookalikes = func() map[rune]rune {
	table := map[rune]rune{}
	for latin, others := range map[rune]string{
		'a': "аαɑ", 'b': "вьϐβ", 'c': "сϲ", 'd': "ԁ", 'e': "еєэε", 'g': "ɡ", 'h': "һнη", 'i': "іιıɩ1l|јϳj", 'k': "кκ", 'm': "мμ",
		'n': "пո", 'o': "оοσ0ө", 'p': "рρ", 'q': "ԛ", 'r': "гᴦ", 's': "ѕ", 't': "тτ", 'u': "υμս", 'v': "ѵν", 'w': "ԝωшщ", 'x': "хχ", 'y': "уγүу", 'z': "ζ",
	} {
		for _, other := range others {
			table[other] = latin
		}
	}
	return table
}()

// skeletonOf returns a form of the name that is equal for names that look alike: in lower case,
// without marks above and below letters and without typographic variants such as full-width letters,
// with letters replaced by the Latin ones they look like.
func skeletonOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case unicode.Is(unicode.Mn, r), r == ' ', r == '-', r == '_', r == '.', r == '\'':
			continue
		case lookalikes[r] != 0:
			r = lookalikes[r]
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "rn", "m")
}

// hasMixedScripts reports whether the letters of the name belong to more than one of the scripts
// whose letters look alike.
func hasMixedScripts(name string) bool {
	var found *unicode.RangeTable
	for _, r := range name {
		for _, script := range []*unicode.RangeTable{
			unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee, unicode.Coptic,
			unicode.Lisu, unicode.Deseret,
		} {
			if !unicode.Is(script, r) {
				continue
			}
			if found != nil && found != script {
				return true
			}
			found = script
		}
	}
	return false
}
