package auth

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
