# make prints what there is to make. Everything runs from a fresh clone with Go,
# Node 20.19 or newer, and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A clone that belongs to somebody else has no version to stamp.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
export HOOKBACK_URL ?= http://127.0.0.1:4000

npm := npm --prefix dashboard

# The race detector watches everything but the SQLite engine, which is C translated to
# Go: instrumented, it makes database tests use three times the CPU.
race := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false
packages ?= ./...

installed := dashboard/node_modules/.package-lock.json

.PHONY: help
help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: dev
dev: $(installed) ## the hub on port 4000, and the page with hot reload on port 5173
	go build -o bin/hookback-server ./server
	@bin/hookback-server & hub=$$!; trap "kill $$hub" EXIT; $(npm) run dev

.PHONY: demo
demo: ## several agents that work and ask, on the hub at HOOKBACK_URL
	go run ./scripts/demo

.PHONY: gen
gen: ## write what is made from schema: JSON Schema, OpenAPI, TypeScript
	go run ./schema/gen

.PHONY: licenses
licenses: $(installed) ## the notices of all dependencies, which the hub serves at /licenses
	go run ./scripts/licenses

.PHONY: build
build: ## bin/hookback-server and bin/hookback
	go build -trimpath -ldflags '-s -w' -o bin/hookback-server ./server
	CGO_ENABLED=0 go build -tags nethttpomithttp2 -trimpath -ldflags '-s -w' -o bin/hookback ./agentclient/cmd/hookback # with cgo it starts a millisecond later; a hub speaks HTTP/1.1: DESIGN.md, Hooks

.PHONY: build-dashboard
build-dashboard: $(installed) ## dashboard/dist, which is committed
	$(npm) run build

.PHONY: check
check: $(installed) ## everything that can be said without running the product
	scripts/check.sh

.PHONY: test
test: $(installed) ## everything CI runs: check, Go, dashboard, browser
	scripts/test.sh

.PHONY: test-go
test-go: ## the Go tests, with the race detector
	go test $(race) -timeout 30m $(packages)

.PHONY: test-dashboard
test-dashboard: $(installed) ## the page's unit tests
	$(npm) test

.PHONY: e2e
e2e: $(installed) build ## a real browser against the real binary
	CHROMIUM=$$(scripts/chromium.sh); export CHROMIUM HOOKBACK_HUB='$(CURDIR)/bin/hookback-server' HOOKBACK_COMMAND='$(CURDIR)/bin/hookback'; $(npm) run e2e

.PHONY: e2e-agents
e2e-agents: ## real coding agents, from npm, against a model on loopback
	HOOKBACK_E2E_AGENTS=1 go test -count=1 -timeout 15m -v ./agentclient/e2e

.PHONY: fuzz
fuzz: ## every decoder's fuzz target, 20 seconds each
	go test ./schema -run '^$$' -fuzz '^FuzzEvent$$' -fuzztime 20s
	go test ./schema -run '^$$' -fuzz '^FuzzHumanInTheLoop$$' -fuzztime 20s
	go test ./schema -run '^$$' -fuzz '^FuzzResponse$$' -fuzztime 20s
	go test ./agentclient/hook -run '^$$' -fuzz '^FuzzRead$$' -fuzztime 20s
	go test ./agentclient/hook -run '^$$' -fuzz '^FuzzScan$$' -fuzztime 20s
	go test ./agentclient -run '^$$' -fuzz '^FuzzParsePolicy$$' -fuzztime 20s
	go test ./agentclient -run '^$$' -fuzz '^FuzzAnAllowedCommandIsSimple$$' -fuzztime 20s
	go test ./agentclient -run '^$$' -fuzz '^FuzzGlobIsARegularExpression$$' -fuzztime 20s
	go test ./agentclient -run '^$$' -fuzz '^FuzzAYesWithMoreIsNoYes$$' -fuzztime 20s
	go test ./agentclient/install -run '^$$' -fuzz '^FuzzInstallAndUninstall$$' -fuzztime 20s
	go test ./server/internal/hub -run '^TestTheStateMachineKeepsItsPromises$$' -rapid.checks=500

.PHONY: bench
bench: ## the benchmarks behind the figures in the README
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-dashboard
bench-dashboard: $(installed) build ## frames, script time, heap and first load of the page
	CHROMIUM=$$(scripts/chromium.sh); export CHROMIUM HOOKBACK_HUB='$(CURDIR)/bin/hookback-server'; $(npm) run bench

.PHONY: fault
fault: ## 200 kills, a full disk, a power cut: what the hub promises to survive
	go run ./scripts/fault

.PHONY: fmt
fmt: $(installed) ## gofmt and prettier
	gofmt -w agentclient dashboard/*.go schema scripts server
	$(npm) run format

.PHONY: clean
clean: ## remove what was built; databases stay
	rm -rf bin dashboard/node_modules dashboard/test-results dashboard/playwright-report

# npm writes this file when it has installed what the lockfile says.
$(installed): dashboard/package-lock.json
	@command -v npm >/dev/null || { echo "The dashboard needs Node 20.19 or newer (npm is not there). The hub itself needs only Go: go run ./server" >&2; exit 1; }
	$(npm) ci --ignore-scripts --no-audit --no-fund
	@touch $@
