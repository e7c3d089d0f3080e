package service

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const launchdLabel = "dev.hookback.hub"

// newLaunchAgent returns the launch agent of a user on macOS.
func newLaunchAgent(home string, uid int, argv []string) unit {
	domain, logs := "gui/"+strconv.Itoa(uid), filepath.Join(home, "Library", "Logs", "Hookback")
	file, service := filepath.Join(home, "Library", "LaunchAgents", launchdLabel+".plist"), domain+"/"+launchdLabel
	return unit{
		file: file, content: launchAgent(argv, filepath.Join(logs, "hub.log")),
		start: [][]string{
			{"mkdir", "-p", logs},
			{"sh", "-c", `launchctl bootout "$1" 2>/dev/null; launchctl bootstrap "$2" "$3"`, "sh", service, domain, file},
		},
		stop:   [][]string{{"sh", "-c", `! launchctl print "$1" >/dev/null 2>&1 || launchctl bootout "$1"`, "sh", service}},
		status: []string{"sh", "-c", `launchctl print "$1" | grep -q "state = running"`, "sh", service},
		reach:  []string{"launchctl", "print", domain},
		remedy: "Sign in at the screen of this Mac, or run the hub with hookback up or hookback-server",
	}
}

func launchAgent(argv []string, log string) []byte {
	var arguments strings.Builder
	for _, arg := range argv {
		arguments.WriteString("\t\t<string>" + escapeXML(arg) + "</string>\n")
	}
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<!-- %s. Changes are lost when hookback service install runs again. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>%s</string>
	<key>ProgramArguments</key>
	<array>
%s	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>StandardOutPath</key>
	<string>%s</string>
	<key>StandardErrorPath</key>
	<string>%s</string>
</dict>
</plist>
`, marker, launchdLabel, arguments.String(), escapeXML(log), escapeXML(log))
}
