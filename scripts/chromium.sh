#!/usr/bin/env bash
# Prints the path of Chromium for the browser tests. If it is missing, installs
# Debian's package, or explains how to install it.
set -euo pipefail

find_one() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$name" ] && command -v "$name" && return
  done
  return 1
}

find_one && exit

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n)
  sudo -n true 2>/dev/null || as_root=(none)
fi
if ! command -v apt-get >/dev/null || [ "${as_root[*]}" = none ]; then
  cat >&2 <<'TEXT'
The browser tests need Chromium or Chrome, which is not installed. Install it (Debian
and Ubuntu: sudo apt-get install chromium) or set CHROMIUM to its path, and run make
again. The other tests don't need it.
TEXT
  exit 1
fi
echo "Chromium is missing: installing Debian's package." >&2
export DEBIAN_FRONTEND=noninteractive
{
  "${as_root[@]}" apt-get update -q && "${as_root[@]}" apt-get install -q -y --no-install-recommends chromium
} >&2 </dev/null
find_one
