package risk

import "strings"

// programs are the rules that a pattern of the book can't hold, by program. Many
// of them run another program, which is judged in its turn.
var programs = map[string][]func(j *judge, r *run){}

func init() {
	for _, row := range []struct {
		names string
		judge func(j *judge, r *run)
	}{
		{"rm rimraf del-cli", (*judge).rm}, {"rmdir rd del erase", (*judge).rmdir}, {"remove-item ri", (*judge).removeItem},
		{"touch mkdir tee unlink shred truncate set-content out-file new-item", (*judge).writesEach},
		{"cp install ln rsync scp copy-item", (*judge).writesLast}, {"mv move-item", (*judge).mv}, {"chmod chown chgrp", (*judge).mode},
		{"sed perl", (*judge).inPlace}, {"tar unzip", (*judge).unpack}, {"dd", (*judge).dd}, {"cd pushd set-location", (*judge).cd},

		{"curl wget http https xh curlie invoke-restmethod irm invoke-webrequest iwr", (*judge).answers},
		{"curl", (*judge).curl}, {"wget", (*judge).wget}, {"scp rsync", (*judge).copiesAway}, {"aws gsutil", (*judge).uploads},

		{"printenv", (*judge).printenv}, {"set export declare", (*judge).setAll}, {"echo printf", (*judge).echo}, {"git", (*judge).gitAdd},
		{`cat less more head tail bat grep rg awk sed cp mv base64 xxd od hexdump strings nl sort cut tac diff jq yq tar zip gzip openssl vim vi nano
			code open get-content gc type nc ncat tee`, (*judge).readsFiles},

		{"kill", (*judge).kill},
		{"psql mysql mariadb sqlite3 duckdb sqlcmd clickhouse-client bq cockroach snowsql", (*judge).sqlClient},
		{"python node deno ruby perl bun", (*judge).code},

		{"sudo", after("-u", "-g", "-h", "-p", "-C", "-T", "-U", "-R", "-D", "--user", "--group")}, {"doas pkexec run0", after("-u", "-C", "--user")},
		{"command builtin time exec nohup setsid gsudo unbuffer chronic busybox toybox firejail winpty entr", after("-a")}, {"start", after("/b", "/min")},
		{"nice ionice caffeinate strace ltrace stdbuf", after("-n", "-c", "-p", "-t", "-w", "-e", "-o", "-s", "-i")},
		{"npx bunx pnpx uvx dotenv", after("-p", "--package", "--from", "--with", "-e", "-f")}, {"env", (*judge).env},
		{"timeout gtimeout chroot flock taskset setarch", skipping(1, "-s", "--signal", "-k", "--kill-after", "-w", "-E")},
		{"poetry pipenv uv rye hatch doppler op", onlyAfter("run")}, {"bundle mise direnv", onlyAfter("exec", "x")}, {"pnpm yarn npm", onlyAfter("exec", "dlx", "x")},
		{"xargs parallel", (*judge).xargs}, {"watch", (*judge).watch}, {"find fd", (*judge).find}, {"su script", (*judge).su},
		{"sh bash zsh dash ksh fish ash", (*judge).shell}, {"powershell pwsh", (*judge).pwsh}, {"cmd", (*judge).cmdExe},
		{"eval invoke-expression iex", (*judge).eval}, {"source .", (*judge).source}, {"trap", (*judge).trap},
		{"ssh", (*judge).ssh}, {"docker podman", (*judge).docker}, {"kubectl oc", (*judge).kubectl},
	} {
		for _, name := range strings.Fields(row.names) {
			programs[name] = append(programs[name], row.judge)
		}
	}
}

// shells are programs that run what they read.
var shells = set("sh bash zsh dash ksh fish ash")
