package programs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call/programs"
)

var project = programs.WorkingDir{Project: "/home/dev/shop"}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call string // words separated by blanks
		want bool
	}{
		{"git status", true},
		{"git status -sb", true},
		{"git --no-pager log --oneline -20", true},
		{"git log -n5 -- src/a.go", true},
		{"git diff HEAD~1..HEAD --stat", true},
		{"git diff HEAD:src/a.go", true},
		{"git diff HEAD:.env", false},
		{"git diff /etc/passwd", false},
		{"git diff ../other", false},
		{"git diff *.go", false},
		{"git log --output=x", false},
		{"git log --outp=x", false},
		{"git -c core.pager=x log", false},
		{"git statusx", false},
		{"git branch", true},
		{"git branch x", false},
		{"git branch -D x", false},
		{"git tag v1", false},
		{"git tag -l v*", true},
		{"./git status", false},
		{"ls -la src", true},
		{"ls *.go", true},
		{"ls ../", false},
		{"ls ~", false},
		{"cat .env", false},
		{"cat .en*", false},
		{"cat *.pem", false},
		{"cat /home/dev/shop/a.go", true},
		{"cat /home/dev/shop2/a.go", false},
		{"grep -rn TODO .", false}, // reads every file, also a secret's
		{"grep -rn TODO src", false},
		{"grep --recursive TODO .", false},
		{"grep -R TODO .", false},
		{"grep -d recurse TODO .", false},
		{"grep -d skip TODO src", true},
		{"grep -rn --include=*.go TODO .", true},
		{"grep -R --include=*.go TODO .", false},
		{"grep -r --include=*.json TODO .", false}, // credentials.json
		{"grep -r --include=[!x]*.json TODO .", false},
		{"grep -r --exclude=*.go TODO .", false},
		{"rg TODO", true},
		{"rg -u TODO", false},
		{"rg -uu TODO", false},
		{"rg --hidden TODO", false},
		{"rg --no-ignore TODO", false},
		{"rg --no-ignore-vcs TODO", false},
		{"rg --unrestricted TODO", false},
		{"rg -L TODO", false}, // leaves the project
		{"rg --follow TODO", false},
		{"rg --files", true},
		{"rg --files --hidden", true},
		{"git grep TODO", true},
		{"git grep --no-index TODO", false},
		{"diff -u src/a.go src/b.go", true},
		{"diff . copy", false}, // of folders it compares the files, also a secret's
		{"diff src copy.d/", false},
		{"diff -r a b", false},
		{"diff -rq a b", false},
		{"cat **", false},
		{"cat **/*", false},
		{"cat [!x]*.json", false},
		{"cat [[:alpha:]]*.json", false},
		{"cat src/../.env", false},
		{"cat .aws/x/../credentials", false},
		{"cat .aws/cr*ls", false},
		{"cat .claude/.credentials.json", false},
		{"ls .aws", true},
		{"cd", false},
		{"cd src", false}, // the next call runs there
		{"git -C . status", false},
		{"git --git-dir=x status", false},
		{"grep -e x .env", false},
		{"grep -f p a", false},
		{"head -20 a.go", true},
		{"tail -n +5 a.go", true},
		{"sed -n 10,20p a.go", true},
		{"sed -n 1e a.go", false},
		{"sed -n -e 1,5p a.go", true},
		{"sed -i -n 1p a.go", false},
		{"find . -name *.go -type f", true},
		{"find . -name x -delete", false},
		{"find . -exec rm {} +", false},
		{"sort -o x a", false},
		{"uniq a b", false},
		{"date +%s", true},
		{"date 01010000", false},
		{"kubectl -n prod get pods", true},
		{"kubectl get pods,secrets", false},
		{"kubectl get pods --kubeconfig=x", false},
		{"jq .a a.json", true},
		{"jq env a.json", false},
		{"python3 --version", true},
		{"python3 x.py", false},
		{"node --version x.js", false},
		{"tar -tzf a.tgz", true},
		{"tar -xzf a.tgz", false},
		{"make", false},
		{"make --version", true},
		{"crontab", false},
		{"crontab -l", true},
		{"node", false},
		{"git reflog expire --all", false},
		{"", false},
		{"arch", true},
		{"arch ./x", false},   // macOS runs it
		{"users .env", false}, // reads it
		{"tar -tf a.tar b.txt", false},
		{"tar -tf *.tar", false}, // may expand to an option
		{"tar -tf [a]*.tar", false},
		{"printf %d\\n 3", true},
		{"printf 100%%n", true},
		{"printf %n PATH", false}, // sets it
		{"printf %-5ln PATH", false},
		{"git config --get sendemail.smtppass", false},
		{"git log -L1,9:src/a.go", true},
		{"git log -L1,9:.env", false},
		{"gh pr view 12 -R o/r", true},
		{"gh pr view https://github.com/o/r/pull/1", true},
		{"gh pr view https://example.org/o/r/pull/1", false},
		{"gh pr list --repo example.org/o/r", false},
		{"which go node", true},
		{"type src/a.go", false}, // Windows prints it
		{"type .npmrc", false},
		{"grep -r --include=*.xml x .", true},
		{"grep -r --include=config x .", false}, // of .git, .aws …
		{"grep -r --include=c*g x .", false},
		{"grep -r --include=Credentials x .", false},
		{"rg -g *config*.ts x", true},
		{"rg -g .git -g x y", false}, // it selects the hidden directory
		{"rg -g ?aws x", false},
		{"rg x src .github", true},
		{"rg x .git", false},
		{"rg x sub/.AWS", false},
		{"cat .git/CONFIG", false},
		{"cat .GIT/modules/x/config", false},
		{"cat .git/conf*", false},
		{"cat .git/HEAD", true},
		{"cat .AWS/credentials", false},
		{"cat .env/..namedfork/data", false},
		{"cat secrets.txt", false},
		{"cat kubeconfig", false},
	} {
		require.Equal(t, c.want, programs.Harmless(strings.Fields(c.call), project), c.call)
	}
}

// TestHarmless_Directories: rg without a path reads the directory in which it runs.
func TestHarmless_Directories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		project, dir, call string
		want               bool
	}{
		{"/home/dev/shop", "", "rg x", true},
		{"/home/dev/shop", "/home/dev/shop/.aws", "rg x", false},
		{"/home/dev/.aws", "", "rg x .", false},
		{"/home/dev/.SSH", "", "cat x", false},
		{"/home/dev/.SSH", "", "ls", true},
		{"/home/dev/.config/gh", "", "rg x", false},
		{`C:\work\shop`, "", "cat src/a.go", true},
		{`C:\work\shop`, "", "git diff HEAD~1", true},
		{`C:\work\shop`, "", "ls env:", false}, // a drive of PowerShell
		{`C:\work\shop`, "", "cat ENV~1", false},
		{`C:\work\shop`, "", "cat a:b", false},
	} {
		got := programs.Harmless(strings.Fields(c.call), programs.WorkingDir{Project: c.project, Dir: c.dir})
		require.Equal(t, c.want, got, "%+v", c)
	}
}

// TestHarmless_Git: git runs the programs that its settings name, and a directory with HEAD, objects
// and refs is a repository with settings.
func TestHarmless_Git(t *testing.T) {
	t.Parallel()
	status := strings.Fields("git status")
	require.True(t, programs.Harmless(status, programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/shop/"}))
	require.False(t, programs.Harmless(status, programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/shop/web"}))
	require.False(t, programs.Harmless(status, programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/bank"}))
}

func TestWorkingDir_Contains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir  programs.WorkingDir
		path string
		want bool
	}{
		{programs.WorkingDir{}, "src/a.go", true},
		{programs.WorkingDir{}, "../a.go", false},
		{programs.WorkingDir{}, "/etc/hosts", false},
		{programs.WorkingDir{Project: "/home/dev"}, "a.go", false},
		{programs.WorkingDir{Project: "/"}, "etc/hosts", false},
		{programs.WorkingDir{Project: "/home/dev/shop", Dir: "/etc"}, "hosts", false},
		{programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/shop/web"}, "../a.go", true},
		{programs.WorkingDir{Project: `C:\work\shop`}, `src\a.go`, true},
		{programs.WorkingDir{Project: `C:\work\shop`}, `..\a.go`, false},
		{programs.WorkingDir{Project: "C:/dev/shop"}, "../../../../dev/other/a.go", false},
		{programs.WorkingDir{Project: "C:/dev/shop"}, "C:/../dev/other/a.go", false},
		{programs.WorkingDir{Project: `C:\work\shop`}, `C:\work\shop\a.go`, true},
		{project, ".git/config", false},
		{programs.WorkingDir{Project: "/home/dev/.aws"}, "credentials", false},
		{programs.WorkingDir{Project: "/home/dev/.aws"}, "cr*ls", false},
		{programs.WorkingDir{Project: "/home/dev/.ssh"}, "id_rsa", false},
		{programs.WorkingDir{Project: "/home/dev/.ssh"}, "work", false},
		{programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/shop/.git"}, "config", false},
		{programs.WorkingDir{Project: "/home/dev/shop", Dir: "/home/dev/shop/.aws/cli"}, "../credentials", false},
		{project, "$HOME/a", false},
	} {
		require.Equal(t, c.want, c.dir.Contains(c.path), "%q in %+v", c.path, c.dir)
	}
}

func TestExecutingOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, word string
		effect     programs.Effect
	}{
		{"git log --output=x", "--output=x", programs.Writes},
		{"git log --outp x", "--outp", programs.Writes},
		{"git -c core.pager=x log", "-c", programs.Executes},
		{"git grep -nOless x", "-nOless", programs.Executes},
		{"git commit -m text", "", programs.NoEffect},
		{"git switch -c x", "", programs.NoEffect},
		{"git -C web -c alias.x=!y x", "-c", programs.Executes},
		{"go test -exec x ./...", "-exec", programs.Executes},
		{"go test -exec=x ./...", "-exec=x", programs.Executes},
		{"tar xf a.tar --to-command=x", "--to-command=x", programs.Executes},
		{"tar -xIsh -f a.tar", "-xIsh", programs.Executes},
		{"tar -xfI", "", programs.NoEffect},
		{"kubectl get pods --kubeconfig=x", "--kubeconfig=x", programs.Executes},
		{"find . -name x -exec rm {} +", "-exec", programs.Executes},
		{"rsync -ae ssh a b", "-ae", programs.Executes},
		{"sort -k2 -o x a", "-o", programs.Writes},
		{"sort -- -o", "", programs.NoEffect},
		{"ls -o", "", programs.NoEffect},
		{"mvn -q -Dtest=Cart test", "", programs.NoEffect},
		{"gradle -PVersionIs=1 test", "", programs.NoEffect},
	} {
		word, effect := programs.ExecutingOption(strings.Fields(c.call))
		require.Equal(t, c.word, word, c.call)
		require.Equal(t, c.effect, effect, c.call)
	}
}

func TestRunsCode(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]bool{
		"sh a.sh": true, "/bin/bash -c x": true, "env A=b x": true, "xargs rm": true, "npx x": true, "npm run build": true, "npm test": false,
		"docker run x": true, "docker -H tcp://x run y": true, "docker ps": false, "docker compose exec web sh": true, "make all": true, "python3.12 a.py": true,
		"git status": false, "git bisect run x": true, "git submodule foreach x": true, "git clone ext::x": true, "go test ./...": false, "go run x": true,
		"PowerShell.exe x": true, `C:\Windows\System32\cmd.exe`: true, "ls": false, "": false, "kubectl -n prod exec x": true, "psql x": true,
	} {
		require.Equal(t, want, programs.RunsCode(strings.Fields(call)), call)
	}
}

func TestHasOption(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]bool{
		"rm -rf x": true, "rm -fr x": true, "rm -f -r x": true, "rm --recursive x": true, "rm --recurs x": true, "rm -f x": false, "rm -- -r": false,
		"rm --force": false, "rm r": false, "rm -recursive": true, "rm --recursive=yes": true,
	} {
		require.Equal(t, want, programs.HasOption(strings.Fields(call), "r", "recursive"), call)
	}
}

func TestSecretFileKind(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, programs.NotSecret, programs.SecretFileKind("C:.env"))
	for _, name := range strings.Fields(`.dev.vars .dev.vars.production .sentryclirc .yarnrc.yml rclone.conf AuthKey_1.p8 client.ovpn admin.kubeconfig x.auto.tfvars.json
		.vault_pass id_ed25519_sk github_rsa deploy_ed25519 server.key.old id_rsa.bak .env.bak client_secret_1.apps.json secret.json passwords.csv .secrets .bash_history
		token.txt api_key vault.yml google-credentials.json logins.json key4.db cookies.sqlite .password-store/mail.gpg`) {
		require.NotEqual(t, programs.NotSecret, programs.SecretFileKind("app/"+name), name)
	}
	for _, name := range strings.Fields(".dev.vars.d/x .env.example main.go.bak tokens.json secret.go history.md git_history.bak config.json a.old .old id_rsa.pub") {
		require.Equal(t, programs.NotSecret, programs.SecretFileKind("app/"+name), name)
	}
	for _, name := range []string{"", ".", "..", "/", " ", ". ", "x/.", ".bak", " .old"} {
		require.Equal(t, programs.NotSecret, programs.SecretFileKind(name), name)
	}
}
