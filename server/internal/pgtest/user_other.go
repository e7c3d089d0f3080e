//go:build !unix

package pgtest

import (
	"os"
	"os/exec"
)

func asServerUser(*exec.Cmd, string) error { return errMissing } // the script needs a shell

func dataParent() string { return os.TempDir() }
