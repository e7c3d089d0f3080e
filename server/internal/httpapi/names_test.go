package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestNames_RejectLookalikes: a name on an answer identifies its person.
func TestNames_RejectLookalikes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for _, name := range []string{"аdа", "ada\u0301", "αdα", "a-da", "Ada.", "ａｄａ", "𝐚𝐝𝐚", "áda", "ꓮda"} {
		p := r.expectProblem("invalid", "POST "+schema.PathPeople, `{"name":"`+name+`"}`, ada.headers()...)
		require.Equal(t, "name", p.Field, name)
	}
	for _, name := range []string{"Мария", "Ελένη", "李雷", "José", "Ada Lovelace", "adam", "bob7"} {
		r.expectOK(nil, "POST "+schema.PathPeople, `{"name":"`+name+`"}`, ada.headers()...)
	}
	r.expectProblem("invalid", "POST "+schema.PathPeople, `{"name":"Mapия"}`, ada.headers()...)
}
