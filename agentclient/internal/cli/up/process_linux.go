package up

import "syscall"

// childAttributes keep Ctrl-C from the hub, which this program then stops once: a second signal
// would kill it. The hub ends with this program, however that ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
