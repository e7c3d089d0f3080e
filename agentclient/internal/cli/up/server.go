package up

import (
	"context"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
)

// Server runs hookback-server with the same arguments.
func Server(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	path, err := service.FindServer(env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	status, err := replace(ctx, append([]string{path}, args...), std)
	if err != nil {
		return std.PrintError("%s: %v", path, err)
	}
	return status
}
