#!/usr/bin/env bash
# Tests what a change can break most likely, in less than a minute and a half: vet and tests of the
# changed Go packages and the packages that import them, and the unit tests of changed page files.
#
#   make quick              what is not committed, or else the last commit
#   make quick base=main    what changed since a revision
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/go-packages.sh

base=${1:-}
if [ -z "$base" ]; then
  base=HEAD
  [ -n "$(git status --porcelain)" ] || base=HEAD~1
fi
files=$({ git diff --name-only "$base" --; git ls-files --others --exclude-standard; } | sort -u)
[ -n "$files" ] || { echo "quick: nothing changed since $base"; exit; }

# The package of a file is the nearest folder with Go code: testdata belongs to the folder above.
package_of() {
  local dir
  dir=$(dirname "$1")
  while [ "$dir" != . ] && { [[ $dir == *testdata* ]] || ! compgen -G "$dir/*.go" >/dev/null; }; do dir=$(dirname "$dir"); done
  [ "$dir" = . ] || echo "$module/$dir"
}

changed=$(while read -r file; do [ ! -e "$file" ] && [ ! -d "$(dirname "$file")" ] || package_of "$file"; done <<<"$files" | sort -u)
packages=$(go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
  awk -v changed="$changed" '
    BEGIN { n = split(changed, names); for (i = 1; i <= n; i++) is[names[i]] = 1 }
    { for (i = 1; i <= NF; i++) if ($i in is) { print $1; next } }')

if [ -n "$packages" ]; then
  printf 'quick: %d Go packages: those changed since %s, and their importers\n' "$(wc -w <<<"$packages")" "$base"
  gofmt -l $(grep '\.go$' <<<"$files" | xargs -r ls 2>/dev/null) | sed 's/^/gofmt would change: /'
  go vet $changed
  test_plain $packages
fi
if grep -qE '^dashboard/(src|package|vite)' <<<"$files"; then
  echo "quick: unit tests of the page for what changed since $base"
  (cd dashboard && npx vitest run --changed "$base")
fi
