package plaintext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/plaintext"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"{}\r\n":                   "{}\r\n",
		"\ufeff{}":                 "{}",
		"\ufeff":                   "",
		"\xff\xfe{\x00}\x00":       "{}",
		"\xfe\xff\x00{\x00}":       "{}",
		"\xff\xfe\x3d\xd8\x00\xde": "😀",
		"\xff":                     "\xff",
		"{\xff}":                   "{\xff}",
	} {
		require.Equal(t, want, string(plaintext.Decode([]byte(text))), "%q", text)
	}
}
