#!/usr/bin/env bash
# Compares the hub with the reference server, a checkout of
# disler/claude-code-hooks-multi-agent-observability, under the same load:
#
#   scripts/bench-reference.sh DIR    DIR contains apps/server
#   scripts/bench-reference.sh        compares with a bare Fiber echo instead
#
# BUN names the program bun, which runs the reference server; otherwise it is found in PATH.
# The servers run in turn, three rounds, about seven minutes; values are medians. The
# reference server has no option for its address and listens on all interfaces, so a script
# that is loaded before it restricts it to loopback. Its database is in a temporary folder.
set -euo pipefail

case ${1:-} in
-h | --help) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0"; exit ;;
esac
dir=
if [ $# -gt 0 ]; then
  dir=$(cd "$1" && pwd) || exit 1
  [ -f "$dir/apps/server/src/index.ts" ] || { echo "$1 has no apps/server/src/index.ts, so it is no checkout of the reference server." >&2; exit 1; }
  BUN=${BUN:-$(command -v bun)} || { echo "bun is missing: the reference server needs it. Install it from bun.sh, or set BUN to its path." >&2; exit 1; }
  [ -x "$BUN" ] || { echo "BUN=$BUN is no program." >&2; exit 1; }
  export BUN
fi
cd "$(dirname "$0")/.."
if [ -n "$dir" ]; then
  exec go run ./scripts/bench -reference "$dir"
fi
exec go run ./scripts/bench -servers
