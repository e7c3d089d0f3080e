#!/usr/bin/env bash
# Prints the directory with PostgreSQL's programs. If there are none, installs Debian's package,
# or states the command that does. The tests start their own server in a temporary directory
# (server/internal/pgtest), so the package must not create one.
set -euo pipefail
. "$(dirname "$0")/packages.sh"

find_postgres && exit
require_installation PostgreSQL postgresql "$postgres_size" 'HOOKBACK_TEST_PGBIN to the directory of its programs (15 or newer)'
as_root=''
[ "$(id -u)" -eq 0 ] || as_root='sudo -n'
$as_root mkdir -p /etc/postgresql-common
echo 'create_main_cluster = false' | $as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
install_package postgresql
find_postgres
