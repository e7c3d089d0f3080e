//go:build !windows

package up

import (
	"context"
	"os"
	"syscall"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

// replace turns this process into argv.
func replace(_ context.Context, argv []string, _ cli.Streams) (int, error) {
	return 0, syscall.Exec(argv[0], argv, os.Environ()) //nolint:gosec,forbidigo // the hub's program gets this one's environment
}

func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
