#!/usr/bin/env bash
# Everything that can be said about the tree without running the product. It
# changes nothing, goes on after a finding, and names all of them at the end.
# Tools run at the versions pinned here; a fresh machine builds them once.
set -euo pipefail
cd "$(dirname "$0")/.."

golangci_lint=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0

found=()
skipped=77 # what a check returns that can't be made here
check() { # name, command…
  local name=$1 start=$SECONDS status=0 result=ok
  shift
  "$@" || status=$?
  if [ $status -eq $skipped ]; then
    result=SKIPPED
  elif [ $status -ne 0 ]; then
    result=FAILED
    found+=("$name")
  fi
  printf 'check %-14s %-8s %3ds\n' "$name" "$result" $((SECONDS - start))
}

formatted() {
  local files
  files=$(gofmt -l agentclient dashboard/*.go schema scripts server) || return 1
  [ -z "$files" ] || { printf 'gofmt would change:\n%s\n' "$files"; return 1; }
}

shell_reads() {
  bash -n scripts/*.sh .ci/run
}

# The first commit whose subject is checked is the one after this.
last_unchecked=195c5f2a05b3

commit_subjects() {
  local range=HEAD
  git rev-parse --git-dir >/dev/null 2>&1 || return $skipped
  if git rev-parse -q --verify "$last_unchecked^{commit}" >/dev/null; then
    range=$last_unchecked..HEAD # else the clone is shallow
  fi
  git log --no-merges --format='%h %s' "$range" | awk '
    length($0) - length($1) - 1 > 72 { print "subject is longer than 72 characters: " $0; found = 1 }
    END { exit found }'
}

# The page as its sources make it now, against the one that is committed.
dist_is_what_the_sources_make() {
  local out same=0
  mkdir -p bin && out=$(mktemp -d bin/dist.XXXXXX) || return 1
  npm --prefix dashboard run --silent build -- --outDir "../$out" --emptyOutDir --logLevel warn &&
    diff -r dashboard/dist "$out" || same=1
  rm -rf "$out"
  [ $same -eq 0 ] || echo "dashboard/dist is not what its sources make: make build-dashboard"
  return $same
}

# Without the database of vulnerabilities nothing can be said. GOVULNDB may name
# a copy (file:///path); where neither is in reach that is no finding, but on
# GitHub, where it is always in reach, it is one.
vulnerabilities() {
  local log status=0
  log=$(mktemp) || return 1
  go run "$govulncheck" ${GOVULNDB:+-db "$GOVULNDB"} -show verbose ./... >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ] && grep -q 'fetching vulnerabilities' "$log"; then
    echo "NOTICE: govulncheck was not run: the vulnerability database (${GOVULNDB:-vuln.go.dev}) can't be reached from here."
    echo "        TestPins still holds the modules above the known ones. Set GOVULNDB=file:///… to check against a copy."
    status=$skipped
    [ -z "${GITHUB_ACTIONS:-}" ] || status=1
  elif [ $status -ne 0 ]; then
    cat "$log"
  elif ! grep -q "^No vulnerabilities found" "$log" || grep -q "^Vulnerability #" "$log"; then
    # Not called, but listed: a module that is required at a version to leave.
    cat "$log"
    status=1
  fi
  rm -f "$log"
  return $status
}

check gofmt formatted
check shell shell_reads
check commits commit_subjects
check go.mod go mod tidy -diff
# golangci-lint runs go vet's analyzers too.
check golangci-lint go run "$golangci_lint" run ./...
# Layering, style, pins, and whether the generated files are fresh.
check rules go test ./scripts ./schema/...
check licenses go run ./scripts/licenses -check
check dashboard npm --prefix dashboard run --silent check
check dist dist_is_what_the_sources_make
check govulncheck vulnerabilities

if [ ${#found[@]} -gt 0 ]; then
  printf '\nmake check: %s\n' "${found[*]}" >&2
  exit 1
fi
