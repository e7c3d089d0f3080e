package sign_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/sign"
)

func TestCallDigest(t *testing.T) {
	t.Parallel()
	digest := func(tool, arguments string) string {
		d := sign.CallDigest(tool, []byte(arguments))
		return string(d[:])
	}
	base := digest("Bash", `{"command":"ls <a> é","list":[1,{"b":null,"a":true}],"n":1.50}`)
	require.Equal(t, base, digest("Bash", ` { "n" : 1.50, "list":[ 1, {"a":true,"b":null} ], "command":"ls \u003ca> \u00e9" } `), "order, white space and escapes")
	for name, other := range map[string][2]string{
		"tool":        {"Bas", `h{"command":"ls <a> é","list":[1,{"b":null,"a":true}],"n":1.50}`},
		"text":        {"Bash", `{"command":"ls <b> é","list":[1,{"b":null,"a":true}],"n":1.50}`},
		"number text": {"Bash", `{"command":"ls <a> é","list":[1,{"b":null,"a":true}],"n":1.5}`},
		"list order":  {"Bash", `{"command":"ls <a> é","list":[{"b":null,"a":true},1],"n":1.50}`},
		"more":        {"Bash", `{"command":"ls <a> é","list":[1,{"b":null,"a":true}],"n":1.50,"x":1}`},
	} {
		require.NotEqual(t, base, digest(other[0], other[1]), name)
	}
	for _, raw := range []string{``, `{"a":1,"a":2}`, `{"x":{"a":1,"a":2}}`, `{"a":1}x`, `[1`} { // the bytes count
		require.NotEqual(t, digest("t", raw), digest("t", raw+" "), raw)
	}
}
