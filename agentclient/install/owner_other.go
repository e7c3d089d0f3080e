//go:build !unix

package install

import "os"

// keepOwner does nothing: a file's owner follows from its directory here.
func keepOwner(*os.File, string) error { return nil }
