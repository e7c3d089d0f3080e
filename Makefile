# make lists the targets. Everything runs from a fresh clone with Go, Node 20.19 or
# newer, and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# go build fails to stamp a version if another user owns the clone. With -trimpath and without cgo,
# binaries, tests, tools and linters of all clones on a machine share what is compiled. The race
# detector needs cgo.
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath
export CGO_ENABLED ?= 0
export HOOKBACK_URL ?= http://127.0.0.1:4000

npm := npm --prefix dashboard

pgpackages ?= ./server/internal/... ./server/hubtest/...
fuzztime ?= 60s
events ?= 3000000

installed := dashboard/node_modules/.package-lock.json

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: dev
dev: $(installed) ## run the hub on port 4000 and the dashboard with hot reload on port 5173
	go build -o bin/hookback-server ./server
	@bin/hookback-server & hub=$$!; trap "kill $$hub" EXIT; $(npm) run dev

.PHONY: demo
demo: ## run several agents that ask questions against the hub at HOOKBACK_URL
	go run ./scripts/demo

.PHONY: gen
gen: ## generate JSON Schema, OpenAPI and TypeScript from schema
	go run ./schema/gen

.PHONY: licenses
licenses: $(installed) ## write the license notices that the hub serves at /licenses
	go run ./scripts/licenses

.PHONY: build
build: ## build bin/hookback-server and bin/hookback
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/ ./server/cmd/hookback-server ./agentclient/cmd/hookback

# Newer versions need a newer Go, or modules that the module proxy does not have.
goreleaser := github.com/goreleaser/goreleaser/v2@v2.14.3

.PHONY: release
release: ## build and publish a release, in the workflow release.yml only; args=… for GoReleaser
	go run $(goreleaser) check --quiet scripts/release/goreleaser.yaml
	GOFLAGS= go run $(goreleaser) release --config scripts/release/goreleaser.yaml --clean --parallelism 2 $(args)

.PHONY: release-snapshot
release-snapshot: ## build a release of all platforms into bin/release; image=yes for the image, too
	skip=sign; [ -n '$(image)' ] || skip+=,docker; \
	  $(MAKE) --no-print-directory release args="--snapshot --skip=$$skip"

.PHONY: build-dashboard
build-dashboard: $(installed) ## build dashboard/dist, which is committed
	$(npm) run build

.PHONY: check
check: $(installed) ## run all static checks
	scripts/check.sh

.PHONY: test
test: ## run everything CI runs: check, Go, dashboard and browser tests
	scripts/test.sh

.PHONY: quick
quick: ## test the changed Go packages and their importers, and what changed on the page; base=REVISION
	scripts/quick.sh $(base)

.PHONY: test-go
test-go: ## run the Go tests, those of scripts/race.txt with the race detector
	source scripts/go-packages.sh; test_raced $$(race_packages); test_plain $$(plain_packages) ./scripts ./schema ./schema/gen

.PHONY: test-race
test-race: ## run all Go tests with the race detector, as CI does every night
	source scripts/go-packages.sh; test_raced ./...

.PHONY: test-postgres
test-postgres: ## run the tests of the hub on PostgreSQL
	HOOKBACK_TEST_PGBIN=$$(scripts/postgres.sh) HOOKBACK_TEST_DB=postgres go test -count=1 -timeout 30m $(pgpackages)

.PHONY: module
module: ## get the library and install both commands from a module proxy of files, as a stranger would
	HOOKBACK_MODULE=1 go test -count=1 -timeout 15m -run '^TestModule_' ./scripts

.PHONY: test-dashboard
test-dashboard: $(installed) ## run the unit tests of the dashboard
	$(npm) test

.PHONY: e2e
e2e: $(installed) build ## test the binaries in a real browser; args=… for Playwright
	CHROMIUM=$$(scripts/chromium.sh); CHROMIUM_SHELL=$$(scripts/chromium.sh shell); export CHROMIUM CHROMIUM_SHELL HOOKBACK_HUB='$(CURDIR)/bin/hookback-server'; $(npm) run e2e -- $(args)

.PHONY: e2e-agents
e2e-agents: export HOOKBACK_E2E_AGENTS := 1
e2e-agents: export HOOKBACK_E2E_LATEST := $(LATEST)
e2e-agents: ## test with real coding agents from npm and a mock model on loopback, and write which versions passed; LATEST=1 for the newest; needs tmux
	go test -count=1 -timeout 60m -run '^$$' ./agentclient/e2e # installs the agents, which has a limit of its own
	status=0; go test -count=1 -timeout 40m -v ./agentclient/e2e || status=$$?; go run ./schema/gen; exit $$status

.PHONY: e2e-reference
e2e-reference: $(installed) agentclient/recipes/node_modules/.package-lock.json build ## test the version 1 dashboard and scripts of the checkout HOOKBACK_REFERENCE, after npm install in apps/client, and the listings of the folder HOOKBACK_SEEDS; kotlinc is optional (Debian: kotlin)
	HOOKBACK_REFERENCE_PYTHON=$$(scripts/python.sh); export HOOKBACK_REFERENCE_PYTHON; \
	  [ -z "$${HOOKBACK_SEEDS:-}" ] || go test -count=1 -timeout 5m -v -run '^TestListing_' ./agentclient/recipes; \
	  CHROMIUM=$$(scripts/chromium.sh); export CHROMIUM HOOKBACK_HUB='$(CURDIR)/bin/hookback-server'; $(npm) run e2e-reference

.PHONY: recipes
recipes: agentclient/recipes/node_modules/.package-lock.json ## run the recipes for agent frameworks with a real hub and a mock model, and for proxies; needs python3; nginx and caddy are optional (NGINX=FILE, CADDY=FILE)
	HOOKBACK_RECIPES=1 go test -count=1 -timeout 5m ./agentclient/recipes
	cd agentclient/recipes/adk && go test -count=1 -timeout 5m .
	HOOKBACK_RECIPES=1 go test -count=1 -timeout 5m -v -run '^TestProxies$$' ./server/hubtest

.PHONY: fuzz
fuzz: ## run every fuzz target for a minute, or fuzztime=DURATION
	scripts/fuzz.sh $(fuzztime)
	go test ./server/internal/hub -run '^TestStateMachine_KeepsInvariants$$' -rapid.checks=500
	ORACLE_LINES=200000 go test ./agentclient/call -v -run '^TestRead_KnowsWhatBashRuns$$' -timeout 4h

.PHONY: bench
bench: ## print the figures of server/docs/guide/performance.md next to their goals
	go run ./scripts/bench

.PHONY: bench-scale
bench-scale: ## print PostgreSQL against SQLite and two hubs against one, next to their goals
	go run ./scripts/bench -scale

.PHONY: bench-history
bench-history: ## the same for queries of a long history, events=3000000; built once in bench-history
	go run ./scripts/bench -history '$(CURDIR)/bench-history' -events $(events)

.PHONY: bench-dashboard
bench-dashboard: $(installed) build ## measure frames, script time, heap and first load of the dashboard
	CHROMIUM=$$(scripts/chromium.sh); export CHROMIUM HOOKBACK_HUB='$(CURDIR)/bin/hookback-server'; $(npm) run bench

.PHONY: film
film: $(installed) ## record the two pictures of the README with the demo in a real browser
	CHROMIUM=$$(scripts/chromium.sh); export CHROMIUM; $(npm) run film

.PHONY: fault
fault: ## run kills, a crowd, a full or failing disk, removed files, a wrong clock and power cuts against one and two hubs
	go run ./scripts/fault

.PHONY: circles
circles: ## print the packages whose files refer to one another in circles
	go run ./scripts/architecture -circles

.PHONY: fmt
fmt: $(installed) ## run gofmt and prettier
	gofmt -w agentclient dashboard/*.go schema scripts server
	$(npm) run format

.PHONY: clean
clean: ## remove build results; databases stay
	rm -rf bin dashboard/node_modules agentclient/recipes/node_modules dashboard/test-results dashboard/playwright-report

agentclient/recipes/node_modules/.package-lock.json: agentclient/recipes/package-lock.json
	@echo 'Installing the npm packages of agentclient/recipes, about 160 MB.' >&2
	npm --prefix agentclient/recipes ci --ignore-scripts --no-audit --no-fund
	@touch $@

# npm writes this file after an install.
$(installed): dashboard/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: the dashboard needs Node 20.19 or newer. The hub needs only Go: go run ./server" >&2; exit 1; }
	@echo 'Installing the npm packages of dashboard, about 260 MB.' >&2
	$(npm) ci --ignore-scripts --no-audit --no-fund
	@touch $@
