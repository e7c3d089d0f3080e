package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

func TestInsert(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a new file":       {policy.NewFile, "{\n  \"rules\": [\n    {}\n  ]\n}\n"},
		"a list on a line": {`{"rules":[]}`, "{\"rules\":[\n    {}\n  ]}"},
		"a list": {
			"{\n  \"rules\": [\n    {\"a\": \"]\"}\n  ]\n}\n",
			"{\n  \"rules\": [\n    {\"a\": \"]\"},\n    {}\n  ]\n}\n",
		},
		"Windows lines": {"{\r\n\"rules\": [\r\n{}\r\n]\r\n}", "{\r\n\"rules\": [\r\n{},\r\n    {}\r\n]\r\n}"},
		"other members": {
			`{"note": "rules", "x": [1], "rules": [{}], "y": []}`,
			"{\"note\": \"rules\", \"x\": [1], \"rules\": [{},\n    {}\n  ], \"y\": []}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed, err := policy.Insert([]byte(test.text), "{}")
			require.NoError(t, err)
			require.Equal(t, test.want, string(changed))
		})
	}
	for _, text := range []string{"", "[]", `{"rules": {}}`, `{"rules": [}`} {
		_, err := policy.Insert([]byte(text), "{}")
		require.Error(t, err, text)
	}
}
