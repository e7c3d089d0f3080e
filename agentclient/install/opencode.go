package install

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// pluginJS is OpenCode's plugin, as it runs a hookback on the PATH.
//
//go:embed opencode.js
var pluginJS string

// pluginCommand is the line of it that says what runs.
const (
	pluginRuns    = "const COMMAND = "
	pluginCommand = pluginRuns + "['hookback', 'hook', 'opencode']"
)

// opencodePlugin is the plugin that runs c.
func opencodePlugin(c call, _ event) string {
	command, _ := json.Marshal(append([]string{c.binary}, c.args...))
	return strings.Replace(pluginJS, pluginCommand, pluginRuns+string(command), 1)
}
