package up

import (
	"context"
	"os/exec"
	"strconv"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
)

// Import runs hookback-server import, which reads and sends the transcripts.
func Import(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	return Server(ctx, append([]string{"import"}, args...), env, std)
}

// offerImport lets hookback-server ask whether to import sessions.
func (s *session) offerImport(ctx context.Context) {
	server, err := service.FindServer(s.env)
	if err == nil && !s.noWire && (s.interactive || s.yes) {
		cmd := exec.CommandContext(ctx, server, "import", "--offer", "--hub", s.url(), "--yes="+strconv.FormatBool(s.yes))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.std.In, s.std.Out, s.std.Err
		_ = cmd.Run() // it reports its errors, and the hub runs without
	}
}
