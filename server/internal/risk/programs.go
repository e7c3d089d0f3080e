package risk

import "strings"

// programHandlers maps each program to the checks that a pattern of ruleTable can't express.
// Wrappers assess the program that they run. A handler for a single program is a method with the
// program's name.
var programHandlers = map[string][]func(a *assessor, r *invocation){}

func init() {
	for _, row := range []struct {
		names  string
		handle func(a *assessor, r *invocation)
	}{
		{"rm rimraf del-cli", (*assessor).rm}, {"rmdir rd del erase", (*assessor).rmdir}, {"remove-item ri", (*assessor).removeItem},
		{"touch mkdir tee unlink shred truncate set-content out-file new-item", (*assessor).checkEachWrite},
		{"cp install ln rsync scp copy-item", (*assessor).checkLastWrite}, {"mv move-item", (*assessor).mv}, {"chmod chown chgrp", (*assessor).changeMode},
		{"sed gsed perl ruby yq awk gawk curl wget sort tree", (*assessor).checkOutputs}, {"sed gsed", (*assessor).sed}, {"awk gawk mawk nawk", (*assessor).awk}, {"install", (*assessor).install},
		{"tar unzip patch", (*assessor).extract}, {"dd", (*assessor).dd},

		{"curl", (*assessor).curl}, {"scp rsync", (*assessor).checkRemoteCopy}, {"aws gsutil", (*assessor).checkUpload},

		{"printenv", (*assessor).printenv}, {"set export declare typeset readonly local", (*assessor).declare}, {"echo printf", (*assessor).echo}, {"git", (*assessor).gitAdd}, {"git", (*assessor).gitConfig},
		{`cat less more head tail bat grep rg awk sed cp mv base64 xxd od hexdump strings nl sort cut tac diff jq yq tar zip gzip openssl vim vi nano
			code open get-content gc type nc ncat tee`, (*assessor).checkReads},

		{"kill", (*assessor).kill}, {"kill pkill killall skill taskkill stop-process spps renice gdb lldb", (*assessor).checkHubProcess},
		{"go", (*assessor).goRun},
		{"chattr setfacl", (*assessor).changeMode},
		{"psql mysql mariadb sqlite3 duckdb sqlcmd clickhouse-client bq cockroach snowsql", (*assessor).sqlClient},
		{"python node deno ruby perl bun php lua luajit", (*assessor).interpreter},

		{"env", (*assessor).env}, {"find fd", (*assessor).find},
		{"sh bash zsh dash ksh fish ash", (*assessor).shell}, {"powershell pwsh", (*assessor).pwsh},
		{"eval invoke-expression iex", (*assessor).eval}, {"invoke-expression", (*assessor).invokeExpression}, {"source .", (*assessor).source},
		{"ssh", (*assessor).ssh}, {"ssh scp sftp", (*assessor).checkSSHOptions}, {"tmux", (*assessor).tmux},
		{"systemd-run setpriv unshare nsenter capsh", (*assessor).detach},
	} {
		for _, name := range strings.Fields(row.names) {
			programHandlers[name] = append(programHandlers[name], row.handle)
		}
	}
}
