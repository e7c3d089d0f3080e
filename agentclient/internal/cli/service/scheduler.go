package service

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

const taskName = "Hookback"

// newTask returns the task of the task scheduler of Windows.
func newTask(env func(string) string, argv []string) (unit, error) {
	dir, user := env("LocalAppData"), env("USERNAME")
	if domain := env("USERDOMAIN"); domain != "" && user != "" {
		user = domain + `\` + user
	}
	if dir == "" || user == "" {
		return unit{}, errors.New("LocalAppData and USERNAME must be set")
	}
	file := filepath.Join(dir, "hookback", "task.xml")
	return unit{
		file: file, content: task(argv, user),
		start: [][]string{
			{"schtasks", "/Create", "/F", "/TN", taskName, "/XML", file},
			{"schtasks", "/Run", "/TN", taskName},
		},
		stop:   [][]string{{"schtasks", "/End", "/TN", taskName}, {"schtasks", "/Delete", "/F", "/TN", taskName}},
		status: []string{"cmd", "/C", `schtasks /Query /TN ` + taskName + ` /FO LIST /V | findstr /C:"Running"`},
	}, nil
}

func task(argv []string, user string) []byte {
	program, arguments := "", []string{}
	for i, arg := range argv {
		if i == 0 {
			program = arg
		} else {
			arguments = append(arguments, quoteWindows(arg))
		}
	}
	user = escapeXML(user)
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<!-- %s. Changes are lost when hookback service install runs again. -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Hookback hub</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>%s</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>%s</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>%s</Command>
      <Arguments>%s</Arguments>
    </Exec>
  </Actions>
</Task>
`, marker, user, user, escapeXML(program), escapeXML(strings.Join(arguments, " ")))
}

// quoteWindows quotes an argument by the rules of CommandLineToArgvW.
func quoteWindows(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\"") {
		return arg
	}
	var b strings.Builder
	b.WriteByte('"')
	backslashes := 0
	for _, r := range arg {
		switch r {
		case '\\':
			backslashes++
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, 2*backslashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, backslashes))
		}
		backslashes = 0
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat(`\`, 2*backslashes))
	b.WriteByte('"')
	return b.String()
}
