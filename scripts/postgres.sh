#!/usr/bin/env bash
# Prints the directory with PostgreSQL's programs, and installs Debian's package postgresql if there
# are none. The tests start their own server in a temporary directory (server/internal/pgtest), so the
# package must not create one.
set -euo pipefail

newest() { { find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null || true; } | sort -V | tail -1; }

if [ -n "${HOOKBACK_TEST_PGBIN:-}" ]; then
  echo "$HOOKBACK_TEST_PGBIN"
  exit
fi
initdb=$(command -v initdb || newest)
if [ -z "$initdb" ]; then
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    sudo -n true 2>/dev/null || { echo 'Install PostgreSQL 15 or newer, or name the directory of its programs in HOOKBACK_TEST_PGBIN.' >&2; exit 1; }
  fi
  "${as_root[@]}" mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  {
    "${as_root[@]}" apt-get update -q
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y --no-install-recommends postgresql
  } >&2
  initdb=$(newest)
fi
dirname "$(readlink -f "$initdb")"
