include versions.mk

TOOLS  := $(CURDIR)/.tools
BIN    := bin/telefuser
GO     ?= go
export TELEFUSER_TOOLS ?= $(TOOLS)
export CGO_ENABLED ?= 0

# Tests of media in real time and of whole topologies have the processors to themselves: a media server that gets none for seconds is no test.
REALTIME := telefuser/(streaming/livekit|internal/bench/viewer|internal/e2e|internal/faults)

.PHONY: help demo dev test race lint bench build cross tools deps-run deps-test aiperf vuln clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: deps-run build ## Make one video on the embedded stack: out/demo.mp4
	@$(BIN) demo --out out/demo.mp4

dev: deps-run build ## Run everything on this machine until Ctrl-C
	@$(BIN) dev

.PHONY: live
live: deps-run tools-live build ## Run everything and open the page that flies through a world
	@$(BIN) dev | while read -r word url; do \
	  echo "$$word $$url"; \
	  case $$word in \
	  ready) page="$$url/#live" ;; \
	  live) echo "open $$page"; { xdg-open "$$page" || open "$$page"; } >/dev/null 2>&1 || true ;; \
	  esac; \
	done

# The compiler collects its garbage less often: 6 % less time from an empty build cache.
build: ## Build bin/telefuser
	@GOGC=$${GOGC:-400} $(GO) build -trimpath -ldflags "-s -w -X main.version=$$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" -o $(BIN) ./cmd/telefuser

cross: ## Build for every supported platform
	@for p in linux/amd64 linux/arm64 darwin/arm64; do \
	  echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/telefuser || exit 1; done

test: deps-test tools tools-live sdks ## Run every test that needs no GPU
	@$(GO) vet ./...
	@CGO_ENABLED=1 $(GO) test -race -timeout 20m $$($(GO) list ./... | grep -vxE '$(REALTIME)')
	@CGO_ENABLED=1 $(GO) test -race -timeout 20m -p 1 $$($(GO) list ./... | grep -xE '$(REALTIME)')

.PHONY: faults-live
faults-live: deps-test tools-live ## Run the faults of live sessions, and the one-minute workload, at full length
	@LIVE_LONG=1 $(GO) test -count=1 -timeout 30m -v -run TestLive ./internal/e2e

.PHONY: faults
faults: deps-test tools ## Break every part of the service and every cable between them; ten minutes at most
	@$(GO) test -count=1 -timeout 20m -v ./internal/faults -faults=full

.PHONY: faults-long
faults-long: deps-test tools tools-live ## The same with 10,000 jobs and 60 random faults, other clocks, and broken builds that must be found
	@$(GO) test -count=1 -timeout 6h -v ./internal/faults -faults=long

.PHONY: faults-goals
faults-goals: deps-test tools ## Measure goals that need many deaths: workers 50 times, Redis 20 times, 1,000 cancels, 2,000 clients at once, other clocks, 5 min without a store
	@$(GO) test -count=1 -timeout 60m -v -run '^(TestWorkerDeaths|TestRedisDeaths|TestCancelRaces|TestHerd|TestClocks)$$|^TestFaults$$/^F15_the_store_is_away_for_5_min$$' ./internal/faults -faults=long

.PHONY: safety
safety: deps-test tools ## Send everything bad at full scale: requests, files, slow peers, other tenants' ids
	@SAFETY_LONG=1 $(GO) test -count=1 -timeout 30m -v -run '^(TestBadRequests|TestBadMedia|TestSlowPeersAreCutOff|TestEveryRouteHidesOtherTenants|TestSecretsStayWhereTheyBelong)$$' ./api

FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: deps-test ## Fuzz every parser for FUZZTIME (60s) each
	@for p in $$(grep -rl --include='*_test.go' --exclude-dir='.?*' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

lint: $(TOOLS)/golangci-lint ## Check style
	@$(GO) mod tidy -diff
	@$(TOOLS)/golangci-lint run

bench: deps-test tools ## Run the service benchmarks of docs/benchmarks.md
	@$(GO) test -run '^$$' -bench . -benchtime 2s ./jobs ./api ./workers/... ./storage

vuln: ## Look for known vulnerabilities in called code, where their database can be reached
	@deploy/vuln.sh $(GOVULNCHECK_VERSION) $(VULNDB_VERSION)

.PHONY: licences
licences: ## Write docs/licences.md
	@$(GO) run ./internal/supply licences > docs/licences.md.new && mv docs/licences.md.new docs/licences.md

.PHONY: sbom
sbom: build ## Write what bin/telefuser is made of: out/sbom.cdx.json
	@mkdir -p out && $(GO) run ./internal/supply sbom $(BIN) > out/sbom.cdx.json && echo out/sbom.cdx.json

deps-run:
	@deploy/deps.sh run

deps-test:
	@deploy/deps.sh test

tools: $(TOOLS)/versitygw ## Build the servers that the tests start

$(TOOLS)/versitygw:
	@echo "building versitygw $(VERSITYGW_VERSION), once"
	@GOBIN=$(TOOLS) CGO_ENABLED=0 $(GO) install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)

.PHONY: tools-live
tools-live: $(TOOLS)/livekit-server ## Build the media server for live sessions

# The module names its program "server".
$(TOOLS)/livekit-server:
	@echo "building livekit-server $(LIVEKIT_VERSION), once"
	@GOBIN=$(TOOLS)/livekit CGO_ENABLED=0 $(GO) install -trimpath -ldflags "-s -w" github.com/livekit/livekit-server/cmd/server@$(LIVEKIT_VERSION)
	@mv $(TOOLS)/livekit/server $@ && rmdir $(TOOLS)/livekit

$(TOOLS)/golangci-lint:
	@GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: sdks
sdks: $(TOOLS)/js/node_modules/openai/package.json $(TOOLS)/py/bin/python ## Install the official SDKs that the tests drive

$(TOOLS)/js/node_modules/openai/package.json: versions.mk
	@mkdir -p $(TOOLS)/js
	@npm install --silent --no-audit --no-fund --prefix $(TOOLS)/js openai@$(OPENAI_JS_VERSION) playwright-core@$(PLAYWRIGHT_VERSION)
	@touch $@

$(TOOLS)/py/bin/python: versions.mk
	@rm -rf $(TOOLS)/py && python3 -m venv $(TOOLS)/py && $(TOOLS)/py/bin/pip install -q openai==$(OPENAI_PY_VERSION) || \
	  { rm -rf $(TOOLS)/py; echo "python SDK not installed: its tests are skipped"; }
	@touch -c $@

.PHONY: console
console: ## Build the pages of api/console again; needs Node
	@cd api/console && npm ci --silent --no-audit --no-fund && node build.mjs

aiperf: ## Install AIPerf beside the tools
	@python3 -m venv $(TOOLS)/aiperf && $(TOOLS)/aiperf/bin/pip install -q aiperf==$(AIPERF_VERSION)

clean: ## Remove what was built here
	@rm -rf bin out
