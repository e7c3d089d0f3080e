# Finds the programs that the tests need from the system, and installs their packages. Sourced by
# chromium.sh, postgres.sh, python.sh, check.sh and needs.sh.

# Downloads of Debian's packages: on a desktop, and on a system with nothing else.
chromium_size='80 to 200 MB'
shell_size='60 MB'
postgres_size='20 to 60 MB'
python_packages='python3-websockets python3-requests python3-dotenv'

# find_chromium prints the path of Chromium or Chrome.
find_chromium() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$name" ] && command -v "$name" && return
  done
  return 1
}

# lacks_shell reports whether the headless shell can be added to Debian's Chromium. Other systems have
# no package of it.
lacks_shell() {
  ! command -v chromium-headless-shell >/dev/null && [ -z "${CHROMIUM:-}" ] && can_install && dpkg -s chromium >/dev/null 2>&1
}

# find_postgres prints the directory with PostgreSQL's programs. Debian's are not in PATH.
find_postgres() {
  local initdb
  if [ -n "${HOOKBACK_TEST_PGBIN:-}" ]; then
    echo "$HOOKBACK_TEST_PGBIN"
    return
  fi
  initdb=$(command -v initdb || { find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null || true; } | sort -V | tail -1)
  [ -n "$initdb" ] && dirname "$(readlink -f "$initdb")"
}

# find_python prints the path of a Python that runs version 1's scripts.
find_python() {
  local name
  for name in "${HOOKBACK_REFERENCE_PYTHON:-python3}" /usr/bin/python3; do
    "$name" -c 'import websockets.server, requests, dotenv' 2>/dev/null && command -v "$name" && return
  done
  return 1
}

# has_source reports whether the machine has the source of a Go program.
has_source() { # path@version
  [ -e "$(go env GOMODCACHE)/cache/download/${1%/cmd/*}/@v/${1#*@}.zip" ]
}

# can_install reports whether this account can install packages without a password.
can_install() {
  command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }
}

# install_command prints the command that installs Debian's packages of these names.
install_command() { # package…
  local as_root=''
  [ "$(id -u)" -eq 0 ] || as_root='sudo '
  echo "${as_root}apt-get install --no-install-recommends $*"
}

# require_installation announces the installation of a package, or states the command and ends the
# script if this account can't install it.
require_installation() { # program, package, download, the variable that names the program instead
  if can_install; then
    echo "$1 is missing. Installing Debian's package, a download of $3: $(install_command "$2")" >&2
    return
  fi
  cat >&2 <<TEXT
$1 is missing, and this account can't install it. Run
  $(install_command "$2")
or the same with your system's package manager, or set $4. Then run make again.
TEXT
  exit 1
}

# install_package installs packages. Its output goes to standard error.
install_package() { # package…
  local as_root=''
  [ "$(id -u)" -eq 0 ] || as_root='sudo -n'
  {
    $as_root apt-get update -q &&
      $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
  } >&2 </dev/null || {
    echo "The installation failed. Repeat it by hand: $(install_command "$@")" >&2
    exit 1
  }
}
