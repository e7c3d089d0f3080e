#!/usr/bin/env bash
# Runs all static checks, or those of Go or of the page: check.sh [go|page]. It changes no file,
# continues after a failed check and lists all failed checks at the end. Tool versions are pinned
# here; go run builds each tool once.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

golangci_lint=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.8.0

found=()
skipped=77 # exit status of a check that cannot run on this machine
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
  bash -n scripts/*.sh scripts/release/*.sh .ci/run
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

# The first commit whose growth is checked is the one after this.
last_unmeasured=3bb9fb5

# A commit that adds more than 400 lines of product code removes at least a quarter as
# many, or gives the reason on a line "Growth: …" of its body.
commit_growth() {
  local commit counts added removed bad=0
  git rev-parse -q --verify "$last_unmeasured^{commit}" >/dev/null 2>&1 || return $skipped
  while read -r commit; do
    counts=$(git show --format= --numstat -M "$commit" -- '*.go' '*.ts' '*.svelte' '*.css' '*.sql' '*.sh' \
      ':!*_test.go' ':!server/internal/storetest' ':!server/hubtest' ':!*.test.ts' ':!dashboard/e2e' ':!dashboard/dist' ':!dashboard/src/lib/api/schema.ts' |
      awk '{ added += $1; removed += $2 } END { print added + 0, removed + 0 }')
    read -r added removed <<<"$counts"
    if [ "$added" -gt 400 ] && [ $((4 * removed)) -lt "$added" ] &&
      ! git log -1 --format=%b "$commit" | grep -q '^Growth: '; then
      echo "$(git log -1 --format='%h %s' "$commit"): adds $added lines and removes $removed; remove more, or give the reason as \"Growth: …\""
      bad=1
    fi
  done < <(git rev-list --no-merges "$last_unmeasured..HEAD")
  return $bad
}

# Builds the dashboard and compares it with the committed build.
dist_is_current() {
  local out same=0
  mkdir -p bin && out=$(mktemp -d bin/dist.XXXXXX) || return 1
  npm --prefix dashboard run --silent build -- --outDir "../$out" --emptyOutDir --logLevel warn &&
    diff -r -x '*.br' -x '*.gz' dashboard/dist "$out" || same=1 # scripts unpacks those
  rm -rf "$out"
  [ $same -eq 0 ] || echo "dashboard/dist is not current: run make build-dashboard"
  return $same
}

# The check needs the vulnerability database; GOVULNDB can point to a copy
# (file:///path). If the database is unreachable, the check is skipped, except on GitHub,
# which always reaches it.
vulnerabilities() {
  local log status=0
  log=$(mktemp) || return 1
  go run "$govulncheck" ${GOVULNDB:+-db "$GOVULNDB"} -show verbose ./... >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ] && grep -q 'fetching vulnerabilities' "$log"; then
    echo "NOTICE: govulncheck was skipped: cannot reach the vulnerability database (${GOVULNDB:-vuln.go.dev})."
    echo "        TestPins still checks minimum module versions. Set GOVULNDB=file:///… to use a copy of the database."
    status=$skipped
    [ -z "${GITHUB_ACTIONS:-}" ] || status=1
  elif [ $status -ne 0 ]; then
    cat "$log"
  elif ! grep -q "^No vulnerabilities found" "$log" || grep -q "^Vulnerability #" "$log"; then
    # A vulnerable version is required even if the vulnerable code is not called.
    cat "$log"
    status=1
  fi
  rm -f "$log"
  return $status
}

# Checks the metrics of a running hub. TestMetrics_FollowConventions has the same rules for the
# machines without promtool.
metrics_are_valid() {
  command -v promtool >/dev/null || return $skipped
  local dir hub url='' tries=600 status=1
  dir=$(mktemp -d) || return 1
  if go build -o "$dir/hub" ./server; then
    env -i HOME="$dir" "$dir/hub" -addr 127.0.0.1:0 -socket off -db "$dir/hub.db" >"$dir/out" 2>&1 &
    hub=$!
    while [ -z "$url" ] && [ $((tries--)) -gt 0 ]; do
      sleep 0.1
      url=$(sed -n 's/^ *Dashboard *//p' "$dir/out")
    done
    curl -fsS "$url/metrics" | promtool check metrics && status=0
    kill $hub
    wait $hub || true
  fi
  rm -rf "$dir"
  return $status
}

go_checks() {
  check gofmt formatted
  check shell shell_reads
  check commits commit_subjects
  check growth commit_growth
  check go.mod go mod tidy -diff
  for tool in "$golangci_lint" "$govulncheck"; do
    has_source "$tool" || echo "$tool is missing: downloading and building it once, up to 6 minutes." >&2
  done
  # golangci-lint runs go vet's analyzers too, and its depguard holds the layers.
  check golangci-lint go run "$golangci_lint" run --allow-parallel-runners ./...
  # Style, pinned versions, and whether generated files are current.
  check rules go test -vet=off ./scripts ./schema ./schema/gen
  check metrics metrics_are_valid
  check licenses go run ./scripts/licenses -check
  check govulncheck vulnerabilities
}

page_checks() {
  check dashboard npm --prefix dashboard run --silent check
  check dist dist_is_current
}

case ${1:-all} in
go) go_checks ;;
page) page_checks ;;
all) go_checks; page_checks ;;
*) echo "check.sh: $1 is neither go nor page" >&2; exit 2 ;;
esac

if [ ${#found[@]} -gt 0 ]; then
  printf '\nmake check: %s\n' "${found[*]}" >&2
  exit 1
fi
