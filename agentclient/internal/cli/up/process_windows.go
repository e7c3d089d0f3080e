package up

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

// replace runs argv as a child, because Windows can't replace a process. Ctrl-C reaches the child
// through the console.
func replace(_ context.Context, argv []string, std cli.Streams) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // the hub's program, which stops by itself
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.In, std.Out, std.Err
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// interrupt does nothing: Ctrl-C has reached the hub through the console.
func interrupt(*os.Process) error { return nil }

func childAttributes() *syscall.SysProcAttr { return nil }
