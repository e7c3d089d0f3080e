package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfirm_NeedsYes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, " Yes \r\n": true, "y": true, "": false, "\n": false, "no\n": false, "yesterday\n": false} {
		var out bytes.Buffer
		require.Equal(t, want, cli.Streams{In: strings.NewReader(answer)}.Confirm(t.Context(), &out, "Run it?"), answer)
		require.Equal(t, map[bool]string{true: "Run it? [y/N] ", false: "Run it? [y/N] Nothing was changed.\n"}[want], out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	cancel() // Ctrl-C
	var out bytes.Buffer
	require.False(t, cli.Streams{In: in}.Confirm(ctx, &out, "Run it?"))
	require.Contains(t, out.String(), "Nothing was changed.")
	require.NoError(t, typed.Close())
}
