package consequence

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
)

// The arguments of package managers, terraform, kubectl and database clients. Nothing is asked of a service.

// managers are package managers.
const managers = " npm pnpm yarn bun pip uv poetry gem cargo go composer apt apt-get dnf brew "

// packageVerb returns the verb of a subcommand of a package manager; empty: it changes no package.
func packageVerb(manager, subcommand string) string {
	is := func(list string) bool { return strings.Contains(list, " "+subcommand+" ") }
	switch {
	case subcommand == "" || !strings.Contains(managers, " "+manager+" "):
		return ""
	case is(" install i add ci get sync "):
		return "Installs"
	case is(" uninstall remove rm purge "):
		return "Removes"
	case subcommand == "upgrade", subcommand == "update" && !strings.Contains(" apt apt-get brew ", " "+manager+" "):
		return "Updates"
	default:
		return ""
	}
}

// valued are options whose value is the next word.
var valued = strings.Fields(`-r --requirement -c --constraint -i --index-url --extra-index-url -t --target --prefix --registry -C --cwd --dir
	-n --namespace --context --cluster --kubeconfig -f --filename -l --selector -o --output -p --profile`)

// operands returns the texts of call.Operands.
func operands(words []call.Word, valued []string) (names []string) {
	for _, w := range call.Operands(words, valued...) {
		names = append(names, w.Text)
	}
	return names
}

// option returns the value of the first of these options.
func option(words []call.Word, names ...string) string {
	if w := call.OptionValue(words, names...); w != nil {
		return w.Text
	}
	return ""
}

func quoteName(name string) string { return strconv.Quote(short(name)) }

// named adds the names in the arguments of a program. ok is false if it is no such program, or only reads.
func (r *reader) named(name string, list []call.Word) (ok bool) {
	args := operands(list[1:], valued)
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	text := ""
	switch {
	case packageVerb(name, verb) != "":
		text = packages(packageVerb(name, verb), name, args[1:], list)
	case name == "terraform" || name == "tofu":
		text = terraform(verb, list)
	case name == "kubectl" && strings.Contains(" delete apply create replace patch scale drain rollout edit set exec ", " "+verb+" "):
		text = kubectl(verb, args[1:], list)
	case slices.Contains(strings.Fields("psql mysql mariadb sqlite3 sqlcmd clickhouse-client duckdb"), name):
		text = statements(strings.Join(call.Texts(list[1:]), " "))
	}
	if text != "" {
		r.say(text)
	}
	return text != ""
}

func packages(verb, manager string, names []string, list []call.Word) string {
	text := verb + " the packages of the project"
	switch file := option(list, "-r", "--requirement"); {
	case file != "":
		text = verb + " the packages in " + quoteName(file)
	case len(names) > 0:
		text = verb + " " + words(names, quoteName)
	}
	text += " with " + manager
	if programs.HasOption(call.Texts(list), "g", "global", "user") {
		text += ", for all projects of the account"
	}
	return text + "."
}

func terraform(verb string, list []call.Word) string {
	does := map[string]string{"destroy": "Destroys", "apply": "Applies changes to", "import": "Imports into"}[verb]
	if does == "" {
		return ""
	}
	text := does + " the resources of terraform"
	if targets := option(list, "-target", "--target"); targets != "" {
		text = does + " " + quoteName(targets) + " with terraform"
	}
	if dir := option(list, "-chdir"); dir != "" {
		text += " in " + quoteName(dir)
	}
	if programs.HasOption(call.Texts(list), "auto-approve") {
		text += ", without a question of its own"
	}
	return text + "."
}

func kubectl(verb string, names []string, list []call.Word) string {
	text := "kubectl runs " + verb
	if file := option(list, "-f", "--filename"); file != "" {
		names = append(names, file)
	}
	if len(names) > 0 {
		text += " on " + words(names, quoteName)
	}
	text += " in the current context"
	if name := option(list, "--context", "--cluster"); name != "" {
		text = strings.TrimSuffix(text, "in the current context") + "in the context " + quoteName(name)
	}
	switch namespace := option(list, "-n", "--namespace"); {
	case programs.HasOption(call.Texts(list), "A", "all-namespaces"):
		text += ", all namespaces"
	case namespace != "":
		text += ", namespace " + quoteName(namespace)
	}
	return text + "."
}

// statement matches the start of an SQL statement that changes data, with its table.
var statement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)\b(drop\s+(?:table|database|schema|view|index)|truncate(?:\s+table)?|` +
		`delete\s+from|update|insert\s+into|alter\s+table)` +
		`\s+(?:if\s+exists\s+|only\s+)?([\w."` + "`" + `\[\]]+)([^;]*)`)
})

func statements(sql string) string {
	var parts []string
	for _, m := range statement().FindAllStringSubmatch(sql[:min(len(sql), 64<<10)], 20) {
		verb := strings.ToUpper(strings.Join(strings.Fields(m[1]), " "))
		part := verb + " " + quoteName(m[2])
		if (verb == "DELETE FROM" || verb == "UPDATE") && !strings.Contains(strings.ToLower(m[3]), "where") {
			part += " without WHERE: all rows"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "SQL: " + strings.Join(parts, "; ") + "."
}
