#!/usr/bin/env bash
# Runs everything CI runs (make test) and prints one line per part at the end, with its wall time
# and its CPU time.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/go-packages.sh
scripts/needs.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/summary" "$work/flaky" "$work/failed-browser"
export HOOKBACK_FAILED=$work/failed-browser # the browser tests add the names and errors of those that failed

part() { # name, command…
  local name=$1 result=ok real cpu TIMEFORMAT='%0R %U %S'
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  { time "$@" </dev/null 2>&3 || result=FAILED; } 3>&2 2>"$work/time-$name"
  read -r real cpu < <(tail -n 1 "$work/time-$name" | awk '{ printf "%d %d\n", $1, $2 + $3 }')
  printf '%-12s %-6s %4d s, %4d s of CPU\n' "$name" "$result" "$real" "$cpu" | tee -a "$work/summary"
}

# A failed test runs once more, one package at a time: a shared machine can stall for minutes. A test
# that passes then is flaky. A data race, a panic, a build error and a package that fails without a
# failed test (a leaked goroutine) stay failures.
go_tests() { # test_plain or test_raced, package…
  local run=$1 log tests packages
  log=$(mktemp -p "$work")
  "$run" ${CI:+-count=1} "${@:2}" 2>&1 | tee "$log" && return
  tests=$(sed -nE 's/^--- FAIL: ([^ ]+) .*/\1/p' "$log" | sort -u | paste -sd '|')
  packages=$(awk '$1 == "FAIL" && $2 ~ "/" { print $2 }' "$log" | tr '\n' ' ')
  [ -n "$tests" ] && [ -n "$packages" ] && ! grep -qE 'DATA RACE|^panic:|(build|setup) failed\]' "$log" || return 1
  printf '\n== flaky unless they fail again: %s in %s\n' "$tests" "$packages"
  # shellcheck disable=SC2086 # one argument per package
  "$run" -p 1 -count=1 -run "^($tests)\$" $packages 2>&1 | tee "$log" || return 1
  ! grep -q 'no tests to run' "$log" || return 1
  tr '|' '\n' <<<"$tests" >>"$work/flaky"
}

# Tests that fail in the browser are repeated after both lanes, one at a time and traced.
browser_tests() {
  make --no-print-directory e2e || [ -s "$HOOKBACK_FAILED" ]
}

repeat_browser_tests() {
  mv "$HOOKBACK_FAILED" "$work/repeated"
  part repeated make --no-print-directory e2e args='--last-failed --workers=1 --trace=on'
  if grep -q '^repeated *ok' "$work/summary"; then cut -f 1 "$work/repeated" >>"$work/flaky"; fi
}

# Two lanes run side by side. The tests of the page in a browser take nearly as long as the Go tests; a third
# lane beside them starves the browsers while packages are built.
browser_lane() {
  part page make --no-print-directory test-dashboard
  part browser browser_tests
  part check-page scripts/check.sh page
  part recipes make --no-print-directory recipes
  [ -z "${HOOKBACK_REFERENCE:-}${HOOKBACK_SEEDS:-}" ] || part reference make --no-print-directory e2e-reference
}

go_lane() {
  part check-go scripts/check.sh go
  part race go_tests test_raced $(race_packages)
  part go go_tests test_plain $(plain_packages)
  part module make --no-print-directory module
  HOOKBACK_TEST_DB=postgres part postgres go_tests test_plain ./server/internal/{hub,delivery,auth}
}

# Installs PostgreSQL if it is missing, so that no test of the engine is skipped.
HOOKBACK_TEST_PGBIN=$(scripts/postgres.sh)
export HOOKBACK_TEST_PGBIN

part install make --no-print-directory -j 2 dashboard/node_modules/.package-lock.json agentclient/recipes/node_modules/.package-lock.json
lanes=()
for lane in browser go; do
  (${lane}_lane) 2>&1 | tee "$work/lane-$lane" | sed -u "s/^/$lane | /" & # a subshell counts its own CPU time only
  lanes+=($!)
done
failed=0
for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
if [ -s "$HOOKBACK_FAILED" ]; then repeat_browser_tests 2>&1 | tee "$work/lane-repeated"; fi

printf '\n== make test\n'
cat "$work/summary"
if grep -q FAILED "$work/summary"; then
  failed=1
  for log in $(grep -l '^[a-z-]* *FAILED ' "$work"/lane-*); do
    printf '\n== what failed in lane %s\n' "${log##*lane-}"
    grep -E -A 14 '^ *--- FAIL|DATA RACE|^panic:|(build|setup) failed\]|^  [0-9]+\) |FAILED|rror:' "$log" | cut -c 1-240 | tail -n 90
  done
fi
flaky=$(sort -u "$work/flaky" | grep -vxFf <(grep -v '^#' scripts/flaky.txt) || true)
if [ -n "$flaky" ]; then
  sed 's/^/flaky, passed only when repeated: /' <<<"$flaky"
  [ -n "${CI:-}" ] || failed=1
fi
# A reader of CI's output may see its last lines only.
if [ $failed = 1 ]; then
  grep FAILED "$work/summary" || true
  { grep -hE '^ *--- FAIL|DATA RACE|^panic:|(build|setup) failed\]' "$work"/lane-* || true; cat "$HOOKBACK_FAILED" 2>/dev/null || true; } |
    sort -u | cut -c 1-300 | tail -n 12 | sed 's/^/failed: /'
fi
exit $failed
