package service

import (
	"errors"
	"html"
	"path/filepath"
)

// marker is in the first lines of each unit that this program wrote. Others are never changed.
const marker = "Written by hookback"

// unit contains the files and commands by which a service manager runs the hub.
type unit struct {
	file    string
	content []byte
	// start are the commands after the unit was written, stop those before it is removed. status
	// succeeds if the hub runs.
	start, stop [][]string
	status      []string
	// reach succeeds if the manager serves this account now; empty: it always does. remedy is the next
	// step if it does not.
	reach  []string
	remedy string
	// user is the account whose units end with its last session, unless it lingers; empty: none.
	user string
}

func requireHome(home string) error {
	if !filepath.IsAbs(home) {
		return errors.New("HOME is not set, so the unit has no place")
	}
	return nil
}

// escapeXML escapes the characters that HTML and XML have in common.
func escapeXML(text string) string { return html.EscapeString(text) }
