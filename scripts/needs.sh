#!/usr/bin/env bash
# Lists what make test will install on this machine: each missing thing with its size and the
# command. Prints nothing if nothing is missing, installs nothing, and fails if something is missing
# that make test can't install.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

later='' # make test installs these
first='' # only a person can install these

row() { # thing, size, command
  printf '  %-36s %-26s %s' "$1" "$2" "$3"
}

missing() { later+=$(row "$@")$'\n'; }

unavailable() { first+=$(row "$@")$'\n'; }

missing_package() { # program, package, download
  if can_install; then
    missing "$1" "$3" "$(install_command "$2")"
  else
    unavailable "$1" "$3" "$(install_command "$2")"
  fi
}

missing_npm() { # directory, size
  make -q "$1/node_modules/.package-lock.json" >/dev/null 2>&1 ||
    missing "npm packages of $1" "$2" "make $1/node_modules/.package-lock.json"
}

if command -v go >/dev/null; then
  [[ $(GOPROXY=off go list -deps -test ./... 2>&1 >/dev/null) != *'disabled by GOPROXY=off'* ]] ||
    missing 'Go modules' '150 MB' 'go mod download'
  # The versions are pinned in the files that run these programs.
  for tool in $(grep -hoE '[a-z0-9.-]+(/[a-z0-9.-]+)*/cmd/[a-z-]+@v[0-9.]+' scripts/check.sh scripts/release/package_linux_test.go); do
    has_source "$tool" || missing "$(basename "${tool%@*}")" 'built once, up to 6 min' "go run $tool"
  done
else
  unavailable 'Go 1.26' '70 MB' 'https://go.dev/dl'
fi
if command -v npm >/dev/null; then
  missing_npm dashboard '260 MB on disk'
  missing_npm agentclient/recipes '160 MB on disk'
else
  unavailable 'Node 20.19 or newer' '30 MB' 'https://nodejs.org/en/download'
fi
command -v python3 >/dev/null || missing_package 'Python 3' python3 '10 MB'
[ -z "${HOOKBACK_REFERENCE:-}${HOOKBACK_SEEDS:-}" ] || find_python >/dev/null || missing_package "Python's websockets" "$python_packages" '2 MB'
find_chromium >/dev/null || missing_package Chromium chromium "$chromium_size"
! lacks_shell || missing "Chromium's headless shell" "$shell_size" "$(install_command chromium-headless-shell)"
find_postgres >/dev/null || missing_package PostgreSQL postgresql "$postgres_size"

[ -z "$later" ] || printf 'make test will install:\n%s' "$later"
if [ -n "$first" ]; then
  printf 'make test needs these first:\n%s' "$first" >&2
  exit 1
fi
