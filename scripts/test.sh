#!/usr/bin/env bash
# Runs everything CI runs (make test) and prints one line per part at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp) page=$(mktemp)
trap 'rm -f "$log" "$page"' EXIT
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
  make --no-print-directory test-go packages="$(go list ./... | grep -vE "$checked" | tr '\n' ' ')" 2>&1 | tee "$log"
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

part check make --no-print-directory check
# Both wait more than they compute, so they run at the same time.
page_tests >"$page" 2>&1 &
part go go_tests
part page wait $!
cat "$page"

printf '\n== go test, package by package\n'
grep -E '^(ok|FAIL|---|panic:)' "$log" || true
printf '\n== make test: %d packages passed, %d failed\n' "$(grep -c '^ok' "$log" || true)" "$(grep -c '^FAIL.*/' "$log" || true)"
printf '%s\n' "${summary[@]}"
exit $failed
