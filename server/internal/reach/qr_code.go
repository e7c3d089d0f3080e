package reach

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quietModules is the width of the empty margin that scanners need, in modules.
const quietModules = 4

// QRCode returns text as a QR code: an SVG image, black on white.
func QRCode(text string) (string, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("encode QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quietModules, y+quietModules)
			}
		}
	}
	size := code.Size + 2*quietModules
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`, size, size, size, size, path.String()), nil
}
