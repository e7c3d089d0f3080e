package call

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// userinfo is the user and the password in an address that a program may also take for a path, as git does.
var userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^//[^/]*@`) })

const (
	// fileRunners run the file in their first operand, or go to that directory.
	fileRunners = " sh bash zsh dash ksh fish source . cd pushd python python3 node deno bun ruby perl php "
	// attachesValue take a secret in -pSECRET.
	attachesValue = " mysql mysqldump mysqladmin mariadb mariadb-dump sshpass "
)

// SameShape reports whether two readings have the same commands, operators, programs, options, files
// and hosts, in the same order, and so differ in operands and values only.
func SameShape(a, b *Call) bool { return slices.Equal(a.shape(), b.shape()) }

func (c *Call) shape() (all []string) {
	for i := range c.Commands {
		cmd := &c.Commands[i]
		var words []string
		name, isScript := cmd.name(), false
		for j, w := range cmd.Words {
			switch end := strings.IndexAny(w.Text+"=", "= \n"); {
			case j == 0:
				words = append(words, w.Text)
			case !isScript && has(fileRunners, name) && !strings.HasPrefix(w.Text, "-"): // it runs the file
				isScript = true
				if strings.ContainsAny(w.Text, " \n=") { // a script, which was read
					w.Text = ""
				}
				words = append(words, w.Text)
			case strings.HasPrefix(w.Text, "-p") && has(attachesValue, name):
				words = append(words, "-p")
			case strings.HasPrefix(w.Text, "--") || len(w.Text) < 12 && strings.HasPrefix(w.Text, "-"):
				words = append(words, w.Text[:end])
			case strings.HasPrefix(w.Text, "-"): // may be -pSECRET
				words = append(words, w.Text[:min(2, end)])
			default:
				words = append(words, "")
			}
		}
		for _, w := range cmd.Assignments {
			name, _, _ := strings.Cut(w.Text, "=")
			words = append(words, name+"=")
		}
		for _, r := range cmd.Redirects {
			words = append(words, r.Op)
		}
		all = append(all, string(cmd.Before)+"\x00"+strings.Join(words, "\x00"))
	}
	for _, f := range c.Files {
		all = append(all, string(f.Op)+" "+userinfo().ReplaceAllString(f.Path, "//"))
	}
	for _, h := range c.Hosts {
		all = append(all, h.Scheme+" "+h.Method+" "+h.Name)
	}
	for _, s := range c.Scripts {
		all = append(all, s.Program+" "+s.Text)
	}
	for _, u := range c.Unread {
		all = append(all, u.Reason)
	}
	return append(all, c.Names...)
}
