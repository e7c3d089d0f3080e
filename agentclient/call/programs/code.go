package programs

import (
	"slices"
	"strings"
)

// codePrograms are the programs whose operands are code or name code, with the subcommands for which
// that is so. A line without subcommands holds for every call.
var codePrograms = newTable(codeTable, func(subcommands []string, _ string) []string { return subcommands })

const codeTable = `
sh|bash|zsh|dash|ksh|fish|ash|csh|tcsh|busybox|toybox|powershell|pwsh|cmd|wsl
rbash|mksh|lksh|oksh|loksh|pdksh|posh|yash|hush|osh|sash|bash-static|elvish|nu|xonsh|rc|es|ion|oil|ysh|murex|newgrp|guile|racket|sbcl|ecl|clisp|raku|socat
python|node|deno|ruby|perl|php|lua|luajit|R|Rscript|julia|groovy|scala|kotlin|swift|tclsh|wish|expect|java|jshell|ghci|runghc|elixir|iex|erl|osascript|mono
nodejs|pypy|ghc|bpftrace|octave-cli|jrunscript|slsh|puppet|knife|rvim|rview|gvim|ipython|micropython|jython|bb|clojure|clj|qjs|gjs|ocaml|crystal|nim|mlr|maxima|sage|tex|latex|pdflatex|xelatex|lualatex
hyperfine|sbatch|srun|watchman|watchman-make|chokidar|onchange|xterm|konsole|gnome-terminal|alacritty|plink|dbclient|tsh|ftp|sftp|lftp
awk|gawk|mawk|nawk|sed|gsed|dc|m4|gnuplot|octave|ed|ex|vi|vim|nvim|view|emacs|gdb|lldb|irb|pry|ts-node|tsx|esno
psql|mysql|mariadb|sqlite3|duckdb|sqlcmd|clickhouse-client|mongo|mongosh|redis-cli|valkey-cli
env|xargs|parallel|sudo|doas|pkexec|run0|gsudo|runas|su|runuser|nohup|setsid|nice|ionice|chrt|taskset|timeout|gtimeout|time|stdbuf|unbuffer|caffeinate|chronic
strace|ltrace|perf|valgrind|flock|watch|entr|watchexec|nodemon|script|screen|tmux|systemd-run|systemd-inhibit|setpriv|unshare|nsenter|chroot|capsh|firejail|bwrap|proot|fakeroot
prlimit|choom|uname26|i386|x86_64|start-stop-daemon|daemonize|daemon|dbus-run-session|dbus-launch|systemd-cat|numactl|cgexec|faketime|torsocks|torify|tsocks
parallel-ssh|proxychains|proxychains4|cpulimit|schedtool|sem|env_parallel|sg|runcon|ssh-agent|xvfb-run|winpty|rr|coreutils|uutils|ld.so|ld-linux.so.2|ld-linux-x86-64.so.2
ld-linux-aarch64.so.1|clush|et|tini|dumb-init|gosu|su-exec|noglob|nocorrect|tsp|envchain
infisical|lerna|devbox run|exec
machinectl shell
aws ssm|ecs
az vm|ssh|container
gh alias|codespace|cs|extension
minikube|colima|limactl ssh|shell
flatpak|snap run
sops exec-env|exec-file
launchctl submit
gcloud compute ssh
arch|setarch|linux32|linux64|catchsegv|rlwrap|dotenv|cross-env|concurrently|aws-vault|chamber|op|doppler|direnv
eval|exec|command|builtin|source|.|trap|start|open|xdg-open|coproc|alias
ssh|rsh|mosh|autossh|sshpass|pssh|pdsh|fab|salt|ansible|ansible-playbook|adb|psexec|winrs
npx|bunx|pnpx|uvx|tox|nox|make|gmake|nmake|ninja|just|task|rake|ant|gradle|gradlew|mvn|mvnw|invoke|inv|yarn|nix-shell|pm2|forever|wine
at|batch|crontab|schtasks|rundll32|regsvr32|mshta|wscript|cscript|wmic|msbuild|installutil|forfiles|invoke-expression|invoke-command|icm|start-process|saps|nmap
npm|pnpm|bun run|run-script|exec|x|dlx|create|init|explore
docker|podman|nerdctl run|exec
docker|podman|nerdctl compose|container run|exec
podman unshare|machine
ctr task|tasks|t exec
docker-compose|podman-compose run|exec
kubectl|oc run|exec|debug|rsh
crictl|ctr|lxc|multipass exec
vagrant|fly|flyctl|heroku|gcloud ssh
heroku run|run:detached
git submodule|submodule--helper foreach
git bisect run
git filter-branch
go run|generate|tool
cargo run|install|script|watch
dotnet run|exec|script|fsi
cmake env|time|rm
pyenv|rbenv|nodenv|goenv|composer exec
mix run|eval
rails|artisan|bin/rails runner|console|tinker|r|c
bundle|mise|asdf|conda|mamba exec|run|x
poetry|pipenv|uv|rye|hatch|pdm|pipx run|exec|tool
nix run|shell|develop
stack|cabal exec|run
ip netns exec
busctl|dbus-send|gdbus call
`

// noWrappers are programs that run none of their operands, without a line in another table: builtins,
// readers and writers of files, package managers, and programs whose subcommands have names of programs.
const noWrappers = ` cd echo printf set unset export alias hash type which whereis man whatis apropos info tldr kill killall pkill pidof service rc-service
 rm rmdir mv cp ln rename install unlink shred touch mkdir mktemp mkfifo tee truncate chmod chown chgrp setfacl dd cpio rsync scp gzip gunzip xz bzip2
 nano code subl open xdg-open apk dnf yum pacman snap choco winget scoop zypper emerge port nix-env gem composer pyenv rbenv nvm fnm volta rustup sdk
 help locate ldd nm objdump readelf otool codesign lsof fuser terragrunt vercel pass rem :: select-string write-output write-host
 aws gsutil az rclone s3cmd s5cmd mc dvc hdfs hadoop ipfs svn hg jj `

// IsKnown reports whether a table has the program, so that it runs operands only if RunsCode says so.
func IsKnown(program string) bool {
	return slices.Contains(strings.Fields(noWrappers), program) || HasOptionTable(program) ||
		harmlessPrograms.has(program) || codePrograms.has(program)
}

// plainWrappers run the command in their operands, and nothing else in their words.
const plainWrappers = ` sudo doas pkexec run0 gsudo nohup setsid nice ionice chrt taskset timeout gtimeout time stdbuf unbuffer caffeinate chronic env xargs strace ltrace
 exec command builtin prlimit choom setarch setpriv unshare nsenter chroot torsocks torify proxychains proxychains4 cpulimit faketime systemd-cat numactl `

// IsPlainWrapper reports whether a program only runs the command in its operands, so that its other words are
// text.
func IsPlainWrapper(program string) bool {
	return slices.Contains(strings.Fields(plainWrappers), program)
}

// optionTable lists options that execute a program or load code beyond the purpose of their program,
// and, on lines with "writes", options that write a file in a program that otherwise reads.
// lists short options that take a value, which ends a cluster. An option with … is a prefix.
const optionTable = `
git : before -c --config-env --exec-path --git-dir values=C
git diff|log|show|format-patch|blame|stash : --ext-diff
git diff|log|show|format-patch|shortlog|diff-tree|rev-list|reflog|whatchanged|stash|range-diff : writes --output values=nMCUSGLO
git grep : -O --open-files-in-pager values=eABCfm
git rebase : -x --exec values=sX
git fetch|pull|ls-remote|fetch-pack|clone : --upload-pack values=obj
git clone : -u --template --config -c values=obj
git push|send-pack : --receive-pack --exec values=o
git archive : --exec --remote
git archive|format-patch : writes --output -o
git init : --template
git difftool : -x --extcmd values=tg
git send-email : --sendmail-cmd --smtp-server --to-cmd --cc-cmd
git bisect : --term-new
git clean : values=e
git restore|rm : values=s
git commit : values=mFcCtuS
git branch : values=u
git checkout : values=bB
git instaweb : --httpd
git filter-branch : --tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --setup
git merge-file|bundle : writes --output
hg : --config --cwd --repository -R
svn : --config-option --config-dir --diff-cmd --editor-cmd --diff3-cmd
go build|test|run|vet|install|list|generate|fix : -exec --exec -toolexec --toolexec -vettool --vettool -overlay --overlay -modfile --modfile
go env : -w -u
tar|bsdtar|gtar : --to-command --checkpoint-action --use-compress-program -I --info-script --new-volume-script -F --rsh-command --rmt-command values=fCTXbgHKLNV
cpio : --rsh-command
coreutils : --coreutils-prog --coreutils-prog-shebang
nano|pico : -s --speller
gem open : -e --editor
zip : --unzip-command -TT…
bun : -e --eval -p --print
env : values=uC
find : -exec -execdir -ok -okdir
find : writes -delete -fprint -fprint0 -fprintf -fls
fd|fdfind : -x -X --exec --exec-batch values=etdESojc
rg : --pre --hostname-bin
ag|ack : --pager
bat|batcat : --pager
man : -P --pager -H --html -C --config-file values=MSesLmRrE
less : +…
less : writes -o -O --log-file --LOG-FILE
sort|gsort : --compress-program
sort|gsort : writes -o --output values=kStT
tree : writes -o values=LPIH
file : -C --compile
xxd : writes -r -revert
split : --filter
rsync : -e --rsh --rsync-path --password-command values=fBMT
ssh : -F values=bceiIJlmopQRSWwDEBL
scp|sftp : -S -F -D values=ciJloP
ssh|autossh|scp|sftp : ProxyCommand… LocalCommand… KnownHostsCommand… -oProxyCommand… -oLocalCommand… -oKnownHostsCommand…
curl : -K --config --engine values=AbcCdDeEFHKmoPQrtTuUwxXyYz
wget : --use-askpass --config -e --execute values=oaiBtOTwQPUlARDIX
kubectl|oc|helm : --kubeconfig values=nfolLkscpv
helm : --post-renderer
docker|podman : --config
docker|podman|nerdctl run|create|exec : --entrypoint
docker build : --allow
npm|pnpm|npx : --script-shell --node-options --userconfig --globalconfig --git --shell
pip : --global-option --install-option --build-option
cargo : --config
eslint : --rulesdir --resolve-plugins-relative-to
gcc|g++|cc|c++|c89|c99|clang|clang++ : -wrapper -fplugin… -specs… -B… -Xclang -load
make|gmake : --eval SHELL=… CC=… MAKEFILES=…
vim|vi|nvim|view|rvim|rview|gvim|vimdiff|ex : -c --cmd -S +…
emacs : --eval --execute -l --load -f --funcall
gdb|lldb : -ex -x -iex --eval-command --command -o -s
mysql|mariadb : --pager
tcpdump : -z values=iwrcsCGWyFTBM
tcpdump : writes -w values=irzcsCGWyFTBM
apt|apt-get|apt-cache : -o --option -c --config-file values=t
dpkg : --pre-invoke --post-invoke
java|javac : @… -javaagent… -J… -processorpath --processor-path -agentlib… -agentpath… -Xbootclasspath…
gradle|gradlew : -I --init-script values=bgpcxDP
mvn|mvnw : -Dexec… -s --settings values=fPplD
php : -d
openssl : -engine -provider-path
gpg|gpg2 : --agent-program --dirmngr-program --photo-viewer --keyserver-options
journalctl : writes --vacuum-size --vacuum-time --vacuum-files --rotate --flush
date : writes -s --set values=dfrI
jq : -L
hostname : writes -F --file -b
ip : -batch -b --batch
strace|ltrace : writes -o --output values=eptsuEaPSXI
aws : --endpoint-url --cli-input-json --ca-bundle
gh : --hostname
rpm|rpmdb|rpmquery|rpmverify|rpmbuild : -E --eval --pipe --load --rcfile --macros
diff3|sdiff : --diff-program
gawk|awk : -l --load values=fFvieE
`

// harmlessTable lists the calls that change nothing: programs with their subcommands, the options
// that they may have and the kinds of their operands.
//
//	-a          an option           -a=kind      an option with a value
//	-a[=kind]   a value only attached  -a!=kind  takes the place of the first operand
//	-a+         one such option is needed
//	-#          a number, as in -20    kind…     any number of operands, also none
//
// A line with @ names a set of options. A program with * lists options before a subcommand. Kinds are
// in kindOf. "path" is for programs with options that do harm: no pattern may expand to one. Content is
// read recursively only if a pattern selects the files, as in grep --include, or if the program leaves
// out hidden and ignored files, as rg does.
const harmlessTable = `
ls|dir|vdir : -a -A -l -h -1 -R -r -t -S -d -F -p -i -s -n -o -g -G -L -c -u -k -q -x -C -m -b -B -N -Q -U -X -Z -I=text -w=number --all --almost-all --human-readable --recursive --reverse --sort=word --time=word --color[=word] --full-time --group-directories-first --classify[=word] --size --inode --directory --time-style=text --ignore=text : file…
tree : -a -d -f -i -s -h -p -D -F -C -n -r -t -L=number -I=text -P=text --dirsfirst --gitignore --noreport --filelimit=number --prune --du : path…
nl : -b=word -n=word -w=number -s=text -v=number -i=number -p : file…
cat|tac : -n -b -s -A -E -T -v -e -t -u --number --show-all --show-ends --show-tabs --squeeze-blank : file…
head|tail : -n=number -c=number -q -v -f -F -# --lines=number --bytes=number --quiet --verbose --follow[=word] --retry --pid=number : file…
wc : -l -w -c -m -L --lines --words --bytes --chars --max-line-length --total=word : file…
stat : -c=text -f -L -t -x -s --format=text --printf=text --file-system --terse --dereference : file…
file : -b -i -L -h -k --brief --mime --mime-type --mime-encoding --dereference : file…
du : -s -h -a -c -k -m -d=number -x -L -b -H -S --max-depth=number --summarize --human-readable --total --apparent-size --exclude=text --all --si : file…
df : -h -k -m -i -T -a -P -H -l --human-readable --print-type --total --inodes : file…
pwd : -L -P :
echo|true|false : -n -e -E : text…
printf : : literal…
date : -u -R -d=text -r=file -j -v=text -I[=word] --utc --date=text --iso-8601[=word] --rfc-3339=word --rfc-email --universal --reference=file : format
arch|users : :
whoami|id|groups|uptime|nproc|tty|logname|sw_vers|lscpu|lsblk|free|vm_stat : -a -u -g -n -G -h -m -p -s -b -f --all --help : word
uname : -a -s -n -r -v -m -p -i -o --all --kernel-name --machine --kernel-release :
hostname : -f -s -i -I -d --fqdn --short :
which|type|whereis|whence : -a -p -t -P -f --all : program…
command : -v!=word -V!=word :
basename|dirname : -a -s=text -z --suffix=text : text…
realpath|readlink : -f -e -m -n -q -s -z --relative-to=file --canonicalize --no-symlinks : file…
cut : -d=text -f=word -c=word -b=word -s -n --delimiter=text --fields=word --characters=word --output-delimiter=text --only-delimited --complement : file…
sort : -n -r -u -h -k=word -t=text -f -b -V -g -M -R -s -c -C -m -z -d -i --numeric-sort --reverse --unique --key=word --field-separator=text --human-numeric-sort --version-sort --ignore-case --stable --check : path…
uniq : -c -d -u -i -f=number -s=number -w=number -D -z --count --repeated --unique --ignore-case : path
tr : -d -s -c -C -t --delete --squeeze-repeats --complement : text…
od|hexdump : -A=word -t=word -c -x -b -d -o -C -v -n=number -N=number -j=number -s=number -w[=number] --format=word : file…
xxd : -l=number -s=number -c=number -g=number -b -p -u -i : path
strings : -n=number -a -t=word -# -e=word --bytes=number --radix=word : file…
cmp : -s -l -b -n=number --silent --quiet --verbose : file…
diff|sdiff|diff3 : -u -U=number -c -C=number -N -q -s -y -w -b -B -i -a -E -Z -t -T -p -d -e -n -W=number -x=text -I=text -L=text --unified[=number] --context[=number] --new-file --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --color[=word] --exclude=text --suppress-common-lines --width=number --label=text --strip-trailing-cr --report-identical-files --text --minimal : named…
comm|join|paste|column|fold|fmt|expand|unexpand|rev|pr : -1 -2 -3 -d=text -s -t -w=number -n -c=number -z --check-order --nocheck-order --delimiters=text --table --width=number : file…
md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|cksum|sum|md5|shasum : -a=word -b -c -t -z -q -r -s --check --quiet --status --ignore-missing --tag --algorithm=word --strict --warn --binary --text : file…
@grep : -n -i -l -L -c -v -w -x -o -h -H -s -q -E -F -P -G -a -I -z -U -e!=text -A=number -B=number -C=number -m=number -d=skip|read -D=skip|read -# --line-number --ignore-case --no-ignore-case --files-with-matches --files-without-match --count --invert-match --word-regexp --line-regexp --only-matching --no-filename --with-filename --no-messages --quiet --silent --extended-regexp --fixed-strings --perl-regexp --basic-regexp --text --binary-files=word --exclude=text --exclude-dir=text --color[=word] --colour[=word] --after-context=number --before-context=number --context=number --max-count=number --regexp!=text --null --null-data --line-buffered --byte-offset --initial-tab
grep|egrep|fgrep|zgrep : @grep --include=names : text file…
grep|egrep|fgrep : @grep -r --recursive --include+=names : text file…
rg|ripgrep : -n -N -i -S -s -l -c -v -w -x -o -F -P -U -a -h -H -I -q -0 -p -e!=searched -g=names -t=word -T=word -A=number -B=number -C=number -m=number -M=number -d=number -j=number -r=text -E=word --line-number --no-line-number --ignore-case --smart-case --case-sensitive --files-with-matches --files-without-match --count --count-matches --invert-match --word-regexp --line-regexp --only-matching --fixed-strings --pcre2 --multiline --multiline-dotall --text --no-filename --with-filename --no-heading --heading --quiet --null --pretty --regexp!=searched --glob=names --iglob=names --type=word --type-not=word --type-list! --after-context=number --before-context=number --context=number --max-count=number --max-columns=number --max-depth=number --max-filesize=number --color=word --colors=text --sort=word --sortr=word --stats --json --trim --column --vimgrep --passthru --replace=text --threads=number --no-messages --no-config --debug --context-separator=text --engine=word --crlf --one-file-system --glob-case-insensitive --include-zero --block-buffered --line-buffered : searched tree…
rg|ripgrep --files : -g=names --glob=names --iglob=names -t=word -T=word --type=word --type-not=word -u --hidden --no-ignore --no-ignore-vcs --unrestricted -0 --null --sort=word --sortr=word --max-depth=number -d=number : path…
fd|fdfind : -H -I -u -s -i -g -F -a -l -L -p -0 -1 -q -e=word -t=word -d=number -E=text -S=text -c=word -j=number --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --list-details --follow --full-path --print0 --extension=word --type=word --max-depth=number --min-depth=number --exact-depth=number --exclude=text --size=text --changed-within=text --changed-before=text --color=word --max-results=number --threads=number --strip-cwd-prefix : text path…
find : -L -H -P -name=text -iname=text -path=text -ipath=text -wholename=text -regex=text -iregex=text -regextype=word -type=word -xtype=word -maxdepth=number -mindepth=number -mtime=number -mmin=number -atime=number -ctime=number -cmin=number -amin=number -newer=path -newermt=text -size=text -empty -perm=text -user=word -group=word -readable -writable -executable -links=number -inum=number -not -o -a -or -and -prune -print -print0 -printf=text -ls -quit -follow -xdev -mount -depth -true -false -daystart -samefile=path -nouser -nogroup : path…
sed : -n -E -r -s -u -z --quiet --silent -e!=lines --expression!=lines --regexp-extended : lines file…
jq : -r -c -n -s -e -S -C -M -a -j -R --raw-output --compact-output --null-input --slurp --exit-status --sort-keys --color-output --monochrome-output --ascii-output --join-output --raw-input --tab --indent=number --unbuffered : filter file…
gofmt : -l -d -s -e :  file…
go version : -m -v :
go list : -m -json[=text] -f=text -e -deps -find -test -u -versions : path…
go doc : -all -short -src -u -c -cmd : word…
go env : -json : word…
go mod why|graph : -m -vendor : word…
go help : : word…
node|npm|npx|bun|deno|python|python3|pip|pip3|git|docker|kubectl|helm|terraform|tofu|gh|make|cmake|gcc|g++|clang|java|javac|ruby|perl|php|tar|curl|wget|rg|jq|tmux|psql|sqlite3|redis-cli|mysql|aws|gcloud|az|brew|apt|ssh|bash|zsh|vim|nvim|code|openssl|uv|protoc|ffmpeg|lua|ninja|rsync|grep|sed|awk|find|ls|go : --version+ :
node|docker|clang|gcc|ruby|perl|php : -v+ :
ssh|python|python3|tmux|psql : -V+ :
npm ls|list|la|ll : -g -l -a --all --depth=number --json --long --parseable --global --omit=word --prod : word…
npm root|prefix|bin : -g --global :
npm view|info|show|outdated|explain|why : --json --long : package…
npm pkg get : --json : word…
pip|pip3 list|show|freeze|check : -f -v -o -u -l --files --outdated --format=word --local --user --not-required --disable-pip-version-check : word…
git * : --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects
@show : -p -u -s --patch --no-patch -U=number --unified=number --raw --stat[=text] --numstat --shortstat --dirstat[=text] --summary --compact-summary --name-only --name-status --color[=word] --no-color --color-words[=text] --word-diff[=word] --check -M[=text] -C[=text] -D -R -w -b -B[=text] -W -a -z --find-renames[=text] --no-renames --minimal --patience --histogram --diff-algorithm=word --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --function-context --inter-hunk-context=number --diff-filter=word -S=text -G=text --pickaxe-regex --relative[=text] --text --binary --full-index --abbrev[=number] --no-ext-diff --no-textconv --exit-code --quiet --submodule[=word] --no-prefix --ignore-submodules[=word] --patch-with-stat --ours --theirs --base --cc -c --merge-base
@log : -n=number -# -L=traced -g -i -E -F -P --max-count=number --skip=number --oneline --graph --decorate[=word] --no-decorate --all --branches[=text] --tags[=text] --remotes[=text] --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --all-match --invert-grep --merges --no-merges --first-parent --reverse --format=text --pretty[=text] --abbrev-commit --no-abbrev-commit --date=text --follow --left-right --cherry-pick --cherry-mark --topo-order --date-order --author-date-order --full-history --simplify-by-decoration --ancestry-path --walk-reflogs --no-walk --count --boundary --not --show-pulls --source --parents --children --regexp-ignore-case --extended-regexp --fixed-strings --no-notes --encoding=word --use-mailmap --stdin
git status : -s -b -v -u[=word] -z --short --branch --long --verbose --porcelain[=word] --show-stash --untracked-files[=word] --ignored[=word] --ahead-behind --no-ahead-behind --renames --no-renames --ignore-submodules[=word] --column[=word] --no-column : path…
git diff : @show --cached --staged : revision…
git diff-tree|diff-index|diff-files : @show -r -t -m --cached --root --no-commit-id --pretty[=text] --stdin : revision…
git log|whatchanged : @show @log : revision…
git shortlog : -s -n -e -c --summary --numbered --email --all --no-merges --since=text --until=text --author=text --group=text : revision…
git rev-list : @log --objects --disk-usage --use-bitmap-index : revision…
git reflog : @show @log :
git reflog show : @show @log : revision…
git show : @show @log : revision…
git blame|annotate : -L=text -w -M -C -e -l -t -f -n -s -p -c -b --root --since=text --show-name --show-number --show-email --porcelain --line-porcelain --date=text --color-lines --color-by-age --abbrev=number --first-parent --ignore-rev=revision : revision…
git branch : -a -r -v -l -i -q --all --remotes --verbose --list! --show-current --contains[=revision] --no-contains[=revision] --merged[=revision] --no-merged[=revision] --points-at=revision --sort=text --format=text --color[=word] --no-color --column[=word] --ignore-case --omit-empty :
git branch --merged|--no-merged|--contains|--no-contains : -a -r -v --all --remotes --sort=text --format=text : revision
git branch --list : -a -r -v -i --all --remotes --verbose --sort=text --format=text --ignore-case : text…
git tag : -l -n[=number] --list --sort=text --contains[=revision] --no-contains[=revision] --merged[=revision] --no-merged[=revision] --points-at=revision --format=text --color[=word] --column[=word] -i --ignore-case :
git tag -l|--list : -n[=number] --sort=text --format=text -i : text…
git remote : -v --verbose :
git remote get-url : --all --push : word
git stash list : @log --stat :
git stash show : -p -u --patch --stat --name-only --name-status --include-untracked --only-untracked : revision
git rev-parse : --abbrev-ref[=word] --short[=number] --verify -q --quiet --show-toplevel --show-prefix --show-cdup --is-inside-work-tree --is-inside-git-dir --is-bare-repository --git-dir --git-common-dir --absolute-git-dir --all --branches --tags --remotes --symbolic --symbolic-full-name --show-superproject-working-tree --show-object-format : revision…
git ls-files : -c -d -m -o -i -s -u -k -z -t -v --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude-standard --directory --full-name --error-unmatch --eol --deduplicate --recurse-submodules --exclude=text --abbrev=number -x=text --format=text : path…
git ls-tree : -r -d -t -l -z --name-only --name-status --long --full-name --full-tree --abbrev=number --object-only --format=text : revision path…
git cat-file : -t -s -p -e --batch-check[=text] : revision…
git grep : -n -i -l -L -c -v -w -o -h -H -q -E -F -P -G -I -a -p -W -z -e!=text -A=number -B=number -C=number -m=number --line-number --ignore-case --files-with-matches --name-only --files-without-match --count --invert-match --word-regexp --only-matching --cached --untracked --extended-regexp --fixed-strings --perl-regexp --heading --break --show-function --function-context --max-depth=number --and --or --not --all-match --color[=word] --no-color --column --text --max-count=number --recurse-submodules : text revision…
git describe : --tags --all --always --long --dirty[=text] --broken[=text] --abbrev=number --exact-match --contains --match=text --exclude=text --first-parent --candidates=number : revision…
git merge-base|name-rev|cherry|show-branch : -a -v --all --is-ancestor --fork-point --octopus --independent --tags --name-only --always --abbrev=number : revision…
git show-ref|for-each-ref : -d -s -q --tags --heads --branches --head --hash[=number] --verify --quiet --dereference --sort=text --format=text --count=number --contains[=revision] --merged[=revision] --points-at=revision --exclude=text --abbrev[=number] : text…
git check-ignore|check-attr : -v -n -q -z -a --verbose --non-matching --quiet --no-index --all : path…
git config : --get!=setting --get-all!=setting --show-origin --show-scope --local --global --system --bool --int --path --type=word --includes :
git config get : --all --show-origin --show-scope --local --global : setting
git count-objects|worktree|submodule|notes|bisect : -v -H --verbose --human-readable : list|status|log|show
git worktree list : -v --porcelain -z --verbose :
git submodule status : --cached --recursive -q : path…
git version : --build-options :
docker|podman * : --log-level=word
docker|podman ps|images|stats|top|port|diff|history|version|info : -a -q -l -s -n=number -f=text --all --quiet --latest --size --last=number --filter=text --format=text --no-trunc --no-stream --digests --human : word…
docker|podman logs : -f -t -n=word --follow --timestamps --tail=word --since=word --until=word --details : word
docker|podman container|image|network|volume|system|context|compose ls|list|ps|df|images|version : -a -q -v -f=text --all --quiet --filter=text --format=text --verbose --services --status=word --no-trunc : word…
docker|podman compose logs : -f -t -n=word --follow --timestamps --tail=word --since=word --until=word --no-color --no-log-prefix : word…
docker|podman compose top|port : --protocol=word --index=number : word…
kubectl|oc * : -n=word --namespace=word --context=word
kubectl|oc get|describe : -n=word -A -w -o=wide|yaml|json|name -l=text -L=word --namespace=word --all-namespaces --watch --output=wide|yaml|json|name --selector=text --field-selector=text --show-labels --sort-by=text --no-headers --context=word --ignore-not-found --chunk-size=number --label-columns=word --show-kind --show-events : resource…
kubectl|oc logs : -n=word -f -p -c=word -l=text --namespace=word --follow --previous --container=word --selector=text --tail=number --since=word --since-time=text --timestamps --all-containers --prefix --context=word : word…
kubectl|oc top : -n=word -A --namespace=word --all-namespaces --containers --sort-by=word --context=word : pod|pods|node|nodes|po|no word…
kubectl|oc version|cluster-info|api-resources|api-versions : --client --output=word -o=word --namespaced[=word] --context=word --short :
kubectl|oc explain : --recursive --api-version=word : word…
kubectl|oc rollout status|history : -n=word --namespace=word --revision=number --timeout=word --context=word -w --watch : word…
kubectl|oc config current-context|get-contexts|get-clusters : -o=word --no-headers : word…
helm list|ls|status|history|version : -n=word -A -a -q -o=word --namespace=word --all-namespaces --all --short --output=word --revision=number : word…
terraform|tofu version : -json :
gh * : -R=github --repo=github
@gh : -R=github -L=number -s=word -l=text -a=word -A=word -S=text -q=filter -c --repo=github --limit=number --state=word --label=text --author=word --assignee=word --search=text --json=word --jq=filter --comments --base=word --head=word --name-only --patch --watch --required --branch=word --workflow=word --event=word --status=word --user=word -b=word -u=word --log --log-failed --job=word --verbose -v --exit-status
gh pr|issue|run|release|workflow|label|repo list|view|status|checks|diff : @gh : github…
ps : -e -f -A -a -x -u -l -p=number -ef --pid=number --forest : aux|ax|axu|axf
pgrep : -f -l -a -x -n -o -u=word -c -i --full --list-name --list-full --exact --newest --oldest --count : text
lsof : -i[=text] -P -n -t -p=word -u=word -c=word -a : file…
ss|netstat : -t -u -l -n -p -a -r -i -s -e -4 -6 -o --tcp --udp --listening --numeric --processes --all :
systemctl status|is-active|is-enabled|list-units|list-unit-files|list-timers : -l -a -n=number --user --no-pager --all --type=word --state=word --full --failed --plain : word…
journalctl : -u=word -n=number -f -e -r -x -k -b[=word] -p=word -o=word -t=word --unit=word --lines=number --no-pager --since=text --until=text --user --follow --reverse --priority=word --output=word --boot[=word] --grep=text -g=text --identifier=word --dmesg -q --quiet :
sleep : : number
seq|expr|factor : -s=text -w -f=text : number…
cal|locale|tput : -3 -y -a -m : word…
test|[ : -e=file -f=file -d=file -r=file -w=file -x=file -s=file -L=file -h=file -z=literal -n=literal -nt=file -ot=file -eq=literal -ne=literal -lt=literal -le=literal -gt=literal -ge=literal : literal…
tar : -t+ -v -z -j -J -f=archive --list+ --file=archive --verbose --gzip :
unzip : -l+=path -Z+=path -v+=path :
zipinfo : -1 -2 -s -m -l -v -h -t : path
zcat|gzcat|bzcat|xzcat : -f : path…
dpkg : -l+ -L+=word -s+=word -S+=text --list+ --status+=word --listfiles+=word --search+=text : word…
rpm : -q+ -a -i -l --query+ --all : word…
apt-cache : : search|show|policy|depends|madison word…
apt : : list|show|search|policy word…
apt list : --installed --upgradable --all-versions -a : word…
brew list|ls|info|deps|leaves|search|config : --versions --json[=word] --cask --formula --installed --tree -v -1 : package…
tmux ls|list-sessions|list-windows|list-panes : -a -s -t=word :
crontab : -l+ :
nvidia-smi : -L -q :
`
