package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	systemdUnitName = "hookback.service"
	systemdRemedy   = "Run the hub with hookback up or hookback-server instead. To use the service, sign in as this account " +
		"(not with su); on WSL, set systemd=true under [boot] in /etc/wsl.conf and run wsl --shutdown; " +
		"for an account that never signs in, an administrator runs loginctl enable-linger for it"
)

// newSystemdUnit returns the unit of the user's systemd manager.
func newSystemdUnit(env func(string) string, argv []string) (unit, error) {
	if env("XDG_RUNTIME_DIR") == "" && env("DBUS_SESSION_BUS_ADDRESS") == "" {
		return unit{}, errors.New("there is no systemd user session (XDG_RUNTIME_DIR is not set), as in a container or under su. " + systemdRemedy)
	}
	if _, err := exec.LookPath("systemctl"); err != nil {
		return unit{}, fmt.Errorf("systemd was not found: %w. %s", err, systemdRemedy)
	}
	configHome := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(configHome) {
		if err := requireHome(env("HOME")); err != nil {
			return unit{}, err
		}
		configHome = filepath.Join(env("HOME"), ".config")
	}
	return unit{
		file: filepath.Join(configHome, "systemd", "user", systemdUnitName), content: systemdUnit(argv),
		start: [][]string{
			{"systemctl", "--user", "daemon-reload"},
			{"systemctl", "--user", "enable", systemdUnitName},
			{"systemctl", "--user", "restart", systemdUnitName},
		},
		stop:   [][]string{{"systemctl", "--user", "disable", "--now", systemdUnitName}},
		status: []string{"systemctl", "--user", "is-active", "--quiet", systemdUnitName},
		reach:  []string{"systemctl", "--user", "show-environment"}, remedy: systemdRemedy,
		user: cmp.Or(env("USER"), env("LOGNAME")),
	}, nil
}

// systemdUnit has no sandbox options: a namespace would hide the processes of agents in /proc, which
// the hub reads to detect an agent that answers its own question.
func systemdUnit(argv []string) []byte {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = quoteSystemd(arg)
	}
	return fmt.Appendf(nil, `# %s. Changes are lost when hookback service install runs again.
[Unit]
Description=Hookback hub
Documentation=https://github.com/hookback/hookback
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
ExecStart=%s
Restart=on-failure
RestartSec=2
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, marker, strings.Join(quoted, " "))
}

// quoteSystemd returns arg as one word of a command line of a unit (systemd.service, "Command
// lines"): with C escapes in double quotes, and with the signs of specifiers and variables doubled.
func quoteSystemd(arg string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range arg {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '%', '$':
			b.WriteRune(r)
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// lingers reports whether the units of user run without a session, or whether that is unknown.
func lingers(ctx context.Context, user string) bool {
	out, err := exec.CommandContext(ctx, "loginctl", "show-user", user, "--property=Linger", "--value").Output() //nolint:gosec // the name of this user
	return err != nil || bytes.Equal(bytes.TrimSpace(out), []byte("yes"))
}
