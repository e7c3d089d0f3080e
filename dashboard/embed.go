// Package dashboard embeds the built single-page app that the hub serves.
package dashboard

import "embed"

// FS contains the built dashboard in dist/. dist is committed, so building the hub
// requires only Go.
//
//go:embed all:dist
var FS embed.FS
