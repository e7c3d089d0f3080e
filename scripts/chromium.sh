#!/usr/bin/env bash
# Prints the path of Chromium for the browser tests. If it is missing, installs
# Debian's package, or states the command that does.
set -euo pipefail
. "$(dirname "$0")/packages.sh"

find_chromium && exit
require_installation Chromium chromium "$chromium_size" 'CHROMIUM to the path of Chromium or Chrome'
install_package chromium
find_chromium
