#!/usr/bin/env bash
# Prints the path of a Python that runs version 1's scripts, for make e2e-reference. If there is none,
# installs Debian's packages, or states the command that does.
set -euo pipefail
. "$(dirname "$0")/packages.sh"

find_python && exit
require_installation 'Python with websockets, requests and dotenv' "$python_packages" '2 MB' 'HOOKBACK_REFERENCE_PYTHON to such a Python'
# shellcheck disable=SC2086 # one argument per package
install_package $python_packages
find_python
