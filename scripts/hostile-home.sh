#!/usr/bin/env bash
# Runs a command as on a machine whose account uses Hookback: the account trusts another hub, denies
# every call, and has state, settings of agents and variables that no test may use.
#
#   scripts/hostile-home.sh go test ./...
#
# It fails if the command fails or changes a file of that account. The account's home directory comes
# from the account database, which a mount namespace replaces. Where namespaces are not allowed, only
# the environment names the home directory.
set -euo pipefail

[ $# -gt 0 ] || { sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0"; exit 2; }

# What the tools of a test run keep in the real home directory.
if command -v go >/dev/null; then
  GOCACHE=$(go env GOCACHE) GOENV=$(go env GOENV) GOMODCACHE=$(go env GOMODCACHE) GOPATH=$(go env GOPATH)
  export GOCACHE GOENV GOMODCACHE GOPATH
fi
export GOLANGCI_LINT_CACHE=${GOLANGCI_LINT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/golangci-lint}
export npm_config_cache=${npm_config_cache:-$HOME/.npm} npm_config_userconfig=${npm_config_userconfig:-$HOME/.npmrc}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
home=$dir/home
put() { # file, text: writes a file of the account
  mkdir -p "$home/${1%/*}"
  printf '%s\n' "$2" >"$home/$1"
}
mask=$(umask)
umask 077
put .config/hookback/known_hubs 'http://127.0.0.1:4000 ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
put .config/hookback/hookback.json '{"rules": [{"tool": "*", "then": "deny"}]}'
put .config/hookback/ledger_heads '0123456789abcdef http://127.0.0.1:4000 1 00'
put .local/state/hookback/hook.log 'a line'
put .local/state/hookback/spool 'not a folder'
put .local/state/hookback/run/4000.sock 'not a socket'
put .local/share/hookback/hookback.db 'not a database'
for settings in .claude/settings.json .codex/hooks.json .gemini/settings.json .cursor/hooks.json; do
  put "$settings" 'not JSON'
done
put .claude/projects/-p/0d4f8a52-8d5c-4a2e-9f0e-000000000000.jsonl 'not JSON'
checksums() { # also of files that a command adds
  (cd "$home" && find . -type f \( -path '*hookback*' -o -path './.claude*' -o -path './.codex/*' -o -path './.gemini/*' -o -path './.cursor/*' \) -exec cksum {} + | sort -k 3)
}
checksums >"$dir/before"
umask "$mask"

export HOME=$home HOOKBACK_URL=http://127.0.0.1:4000 HOOKBACK_TOKEN=hubin_of_this_account HOOKBACK_SESSION=of-this-account
export HOOKBACK_DB=$home/.local/share/hookback/hookback.db HOOKBACK_TLS_CERT=$home/missing.pem HOOKBACK_LOCAL_USERS=nobody-at-all
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR

id=$(id -u)
awk -F: -v OFS=: -v id="$id" -v home="$home" '$3 == id { $6 = home } 1' /etc/passwd >"$dir/passwd"
grep -q "^[^:]*:[^:]*:$id:" "$dir/passwd" || echo "account:x:$id:$(id -g)::$home:/bin/sh" >>"$dir/passwd"
chmod 755 "$dir" # for tests that run as another account
chmod 644 "$dir/passwd"
namespace=(unshare --mount)
[ "$id" = 0 ] || namespace=(unshare --map-current-user --keep-caps --mount)
status=0
if "${namespace[@]}" mount --bind "$dir/passwd" /etc/passwd 2>/dev/null; then
  # A socket of a hub is in the runtime directory if the account has one.
  hide='[ ! -d "$1" ] || mount -t tmpfs -o mode=755 tmpfs "$1"'
  "${namespace[@]}" bash -c "set -e; mount --bind \"\$0\" /etc/passwd; $hide; shift; exec \"\$@\"" "$dir/passwd" "/run/user/$id" "$@" || status=$?
else
  echo 'hostile-home.sh: no namespaces here, so only the environment names the home directory' >&2
  "$@" || status=$?
fi
diff "$dir/before" <(checksums) >&2 || { echo 'hostile-home.sh: the command changed files of the account' >&2; exit 1; }
exit $status
