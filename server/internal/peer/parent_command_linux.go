package peer

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
)

// shells run commands on behalf of their parent. So does timeout.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ash": true, "busybox": true, "zsh": true, "ksh": true, "mksh": true,
	"fish": true, "csh": true, "tcsh": true, "pwsh": true, "timeout": true,
}

func parentCommand(p *Process) (*Process, bool) {
	for i := 1; i < len(p.Chain) && i <= len(p.Ancestors); i++ {
		pid := p.Chain[i].PID
		st, ok := readStat(pid)
		if !ok || st.start != p.Chain[i].Start || pid == 1 {
			return nil, false // it has exited, or pid 1 adopted the process
		}
		exe := p.Ancestors[i-1]
		exe = exe[:strings.LastIndex(exe, " (")]
		switch {
		case path.Base(exe) == "systemd":
			return nil, false // systemd adopts orphans
		case !shells[path.Base(exe)]:
			up := &Process{Chain: p.Chain[i:], Boot: p.Boot}
			up.PID, up.Exe, up.Ancestors = pid, exe, p.Ancestors[i:]
			return up, true
		case st.session == pid && st.tty != 0 || !runsCommand(pid):
			return nil, false // an interactive shell
		}
	}
	return nil, false
}

// runsCommand reports whether a shell was started with a command line or a script.
func runsCommand(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	args := strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")[1:]
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--rcfile" || arg == "--init-file" || arg == "-o":
			i++ // skip its value
		case !strings.HasPrefix(arg, "-"):
			return true // a script
		case !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c"):
			return true
		}
	}
	return false
}
