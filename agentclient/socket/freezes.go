package socket

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
	"github.com/hookback/hookback/schema/control"
)

// A hub repeats its active freezes in a file beside its socket, so that a hook stops the call of a
// frozen session also while the hub does not answer. The hub has written the file before it reports
// that a freeze began or ended.

// maxFreezesFile is how many bytes of a file of freezes are read.
const maxFreezesFile = 4 << 20

// FreezesFile returns the path of the file that belongs to a socket.
func FreezesFile(socketPath string) string {
	return strings.TrimSuffix(socketPath, ".sock") + ".freezes"
}

// WriteFreezes replaces a file of freezes.
func WriteFreezes(file string, freezes []control.Freeze, mode fs.FileMode) error {
	text, err := json.Marshal(append([]control.Freeze{}, freezes...))
	if err != nil {
		return err
	}
	return atomicfile.Replace(file, text, mode)
}

// ReadFreezes returns the freezes in a file. If the file exists and can't be read, everything is frozen.
func ReadFreezes(file string) (freezes []control.Freeze) {
	unreadable := []control.Freeze{{Scope: control.FreezeAll, By: "A hub whose file of freezes can't be read"}}
	f, err := os.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unreadable
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFreezesFile))
	if err != nil || json.Unmarshal(text, &freezes) != nil {
		return unreadable
	}
	return freezes
}

// FreezesOf returns the freezes that the hub at this address repeats. isKnown is false if there is no
// file that only a hub's account can have written: the hub is on another machine or has no socket.
func FreezesOf(address string) (freezes []control.Freeze, isKnown bool) {
	hub, err := url.Parse(address)
	if err != nil {
		return nil, false
	}
	files := func(yield func(string) bool) { yield(hub.Path) }
	switch {
	case hub.Scheme == Scheme:
	case IsDirect(hub):
		files = paths(cmp.Or(hub.Port(), "80"))
	default:
		return nil, false
	}
	for path := range files {
		if file := FreezesFile(path); isFileOfHub(file) {
			return ReadFreezes(file), true
		}
	}
	return nil, false
}
