package digest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/history"
)

func TestSession_PersonIsFromStrongestSource(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	post := func(members string) (string, history.PersonSource) {
		r.ids++
		e := newEvent("Notification", `{"tokenOwner":"mallory","os_user":"mallory","user_email":"mallory@example.com"}`)
		e.ID, e.Envelope = r.ids, []byte(`"source_app":"a"`+members)
		r.add(e)
		return r.s.Sum.Person, r.s.Sum.PersonSource
	}
	for _, c := range []struct {
		members, person string
		source          history.PersonSource
	}{
		{"", "", ""}, // a payload is the agent's
		{`,"os_user":"ada"`, "ada", history.PersonOfSystem},
		{`,"os_user":"eve"`, "ada", history.PersonOfSystem}, // the first of equal sources
		{`,"os_user":"eve","user_email":"ada@example.com"`, "ada@example.com", history.PersonOfEmail},
		{`,"tokenOwner":"Ada L."`, "Ada L.", history.PersonOfToken},
		{`,"tokenOwner":"eve","user_email":"eve@example.com","os_user":"eve"`, "Ada L.", history.PersonOfToken},
		{`,"tokenOwner":7,"user_email":{}`, "Ada L.", history.PersonOfToken},
	} {
		person, source := post(c.members)
		require.Equal(t, c.person, person, c.members)
		require.Equal(t, c.source, source, c.members)
	}
	r = &recorder{t: t}
	person, _ := post(`,"os_user":"` + strings.Repeat("x", 5000) + `\n\u202e"`)
	require.LessOrEqual(t, len([]rune(person)), personLength)
	require.NotContains(t, person, "\u202e")
}
