// Package dashboard is the hub's single-page app, as it was built.
package dashboard

import "embed"

// FS holds the built page under dist/. It is committed, so that the hub builds
// and runs on a machine with nothing but Go.
//
//go:embed all:dist
var FS embed.FS
