#!/usr/bin/env bash
# Prints the path of Chromium for the browser tests. If it is missing, installs
# Debian's package, or states the command that does.
#
# chromium.sh shell prints the path of the headless shell, in which the tests compute a quarter
# less: it opens no window. If it can't be installed, it prints nothing, and the tests use Chromium.
set -euo pipefail
. "$(dirname "$0")/packages.sh"

if [ "${1:-}" = shell ]; then
  if lacks_shell; then
    require_installation "Chromium's headless shell" chromium-headless-shell "$shell_size" CHROMIUM
    install_package chromium-headless-shell
  fi
  command -v chromium-headless-shell || true
  exit
fi

find_chromium && exit
require_installation Chromium chromium "$chromium_size" 'CHROMIUM to the path of Chromium or Chrome'
install_package chromium
find_chromium
