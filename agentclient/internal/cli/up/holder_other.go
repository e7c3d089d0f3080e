//go:build !linux

package up

// holder returns "": only Linux lists the process of a port without other programs.
func holder(int) string { return "" }
