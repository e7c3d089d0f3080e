package install

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// pluginJS is OpenCode's plugin with the hookback on the PATH.
//
//go:embed opencode.js
var pluginJS string

// pluginCommand is the line of pluginJS that defines the command.
const (
	pluginCommandPrefix = "const COMMAND = "
	pluginCommand       = pluginCommandPrefix + "['hookback', 'hook', 'opencode']"
)

// opencodePlugin returns the plugin that runs c.
func opencodePlugin(c hookCommand, _ event) string {
	command, _ := json.Marshal(append([]string{c.binary}, c.args...))
	return strings.Replace(pluginJS, pluginCommand, pluginCommandPrefix+string(command), 1)
}
