package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestEqualJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b        string
		equal, same bool
	}{
		{`{"a":1,"b":"<"}`, ` {"b": "\u003c", "a": 1}`, true, true},
		{`{"id":9007199254740993}`, `{"id":9007199254740992}`, false, true},
		{`[1.0]`, `[1]`, false, true},
		{`{"a":null}`, `{}`, false, false},
		{`{"a":1}`, `{"a":1} x`, false, false},
		{`{"a":1} x`, `{"a":1} x`, false, false},
		{``, ``, true, false},
		{``, `null`, false, false},
	} {
		require.Equal(t, test.equal, schema.EqualJSON(json.RawMessage(test.a), json.RawMessage(test.b)), "%s %s", test.a, test.b)
		require.Equal(t, test.same, schema.SameJSON(json.RawMessage(test.a), json.RawMessage(test.b)), "%s %s", test.a, test.b)
	}
}
