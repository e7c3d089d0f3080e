#!/usr/bin/env bash
# Runs everything CI runs (make test) and prints one line per part at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp) again=$(mktemp) page=$(mktemp)
trap 'rm -f "$log" "$again" "$page"' EXIT
summary=()
failed=0

part() { # name, command…
  local name=$1 start=$SECONDS result=ok
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@" </dev/null || { result=FAILED; failed=1; }
  summary+=("$(printf '%-10s %-6s %4ds' "$name" "$result" $((SECONDS - start)))")
}

# make check has already run the tests of these packages.
checked='^github.com/hookback/hookback/(scripts|schema|schema/gen)$'

go_tests() {
  make --no-print-directory test-go packages="$(go list ./... | grep -vE "$checked" | tr '\n' ' ')" 2>&1 | tee "$log" || repeat_failed_tests
}

# Runs the failed tests once more, one package at a time, as Playwright does in CI: a shared
# machine can stall for minutes. The output names them. A data race, a panic, a build error
# and a package that fails without a failed test (a leaked goroutine) stay failures.
repeat_failed_tests() {
  local tests packages
  tests=$(sed -nE 's/^--- FAIL: ([^ ]+) .*/\1/p' "$log" | sort -u | paste -sd '|')
  packages=$(awk '$1 == "FAIL" && $2 ~ "/" { print $2 }' "$log" | tr '\n' ' ')
  [ -n "$tests" ] && [ -n "$packages" ] && ! grep -qE 'DATA RACE|^panic:|(build|setup) failed\]' "$log" || return 1
  printf '\n== flaky unless they fail again: %s in %s\n' "$tests" "$packages"
  make --no-print-directory test-go packages="-p 1 -count=1 -run '^($tests)\$\$' $packages" 2>&1 | tee "$again" || return 1
  ! grep -q 'no tests to run' "$again" || return 1
  sed -i -E 's/^(FAIL|--- FAIL)/flaky: \1/' "$log"
}

# The parts that test the page. Its output follows that of the Go tests.
page_tests() {
  summary=() failed=0
  part recipes make --no-print-directory recipes
  part dashboard make --no-print-directory test-dashboard
  part browser make --no-print-directory e2e
  printf '\n== page\n'
  printf '%s\n' "${summary[@]}"
  return $failed
}

# Installs PostgreSQL if it is missing, so that no test of the engine is skipped.
HOOKBACK_TEST_PGBIN=$(scripts/postgres.sh)
export HOOKBACK_TEST_PGBIN

part check make --no-print-directory check
# Both wait more than they compute, so they run at the same time.
page_tests >"$page" 2>&1 &
part go go_tests
part page wait $!
cat "$page"
# The engine's own suite ran with the race detector above. These decide and deliver on it.
part postgres make --no-print-directory test-postgres pgpackages='./server/internal/hub ./server/internal/delivery ./server/internal/auth'

printf '\n== go test, package by package\n'
grep -E '^(ok|FAIL|---|panic:|flaky:)' "$log" || true
printf '\n== make test: %d packages passed, %d failed\n' "$(grep -c '^ok' "$log" || true)" "$(grep -c '^FAIL.*/' "$log" || true)"
printf '%s\n' "${summary[@]}"
exit $failed
