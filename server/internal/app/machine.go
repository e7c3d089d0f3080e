package app

import (
	"os"
	"strings"
)

// machineName returns the name of this machine.
func machineName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "the hub's machine"
	}
	return name
}

// machineID identifies what loopback addresses mean for this hub: the machine since it started, and on
// Linux the network of the process. Two containers have the same kernel and different networks, and cloned
// machines have the same name.
func machineID() string {
	id := []string{machineName()}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id = append(id, strings.TrimSpace(string(boot)))
	}
	if network, err := os.Readlink("/proc/self/ns/net"); err == nil {
		id = append(id, network)
	}
	return strings.Join(id, " ")
}
