//go:build !windows && !linux

package up

import "syscall"

// childAttributes keep Ctrl-C from the hub, which this program then stops once: a second signal
// would kill it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
