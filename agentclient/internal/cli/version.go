package cli

import "runtime/debug"

// Version returns this program's version as a hub reports its own.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
