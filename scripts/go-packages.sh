# shellcheck shell=bash # sourced by test.sh and quick.sh, and by make test-go
# Which Go packages are tested with the race detector, and how.

export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false" CGO_ENABLED=0 # the builds that make uses, too
module=github.com/hookback/hookback

# make check runs the tests of these packages.
checked="^$module/(scripts|schema|schema/gen)\$"

race_packages() { awk -v module="$module" '!/^#/ && NF { print module "/" $1 }' scripts/race.txt; }

plain_packages() { go list ./... | grep -vE "$checked" | grep -vxFf <(race_packages); }

# golangci-lint runs the analyzers of go vet. Tests wait more than they compute, so more packages than
# processors run at once. They use nothing of the account that runs them.
test_plain() { scripts/hostile-home.sh go test -vet=off -p 4 -timeout 30m "$@"; }

# The race detector watches everything but the SQLite engine, which is C translated to Go:
# instrumented, it makes database tests use three times the CPU.
test_raced() {
  CGO_ENABLED=1 scripts/hostile-home.sh go test -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false \
    -vet=off -p 4 -timeout 60m "$@"
}
