# The targets that people and continuous integration call; `make` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Tests measure times: two sets of them would disturb each other.
.NOTPARALLEL:
.PHONY: help setup build bench test test-rust test-python test-subjects check ratios fuzz endure format docs docs-subjects docs-accuracy wheel wheel-check clean

# One target folder and profile everywhere (scripts/setup says why).
export CARGO_TARGET_DIR := $(CURDIR)/target
BIN := .venv/bin
# Those of scripts/ that are Python, which their names do not say.
SCRIPTS := scripts/take-pictures scripts/write-accuracy scripts/write-crawl-table scripts/write-example scripts/write-notices scripts/write-reference scripts/write-subjects

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing, create .venv, build the engine
	@scripts/setup

build: setup ## Install what subjects need and build every one that can be had here
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $(ARGS)

bench: setup ## Crawl 1,000 URLs with each of eleven clients, three times, and print the table; a first look with ARGS=--quick
	@scripts/setup-dotnet
	@$(BIN)/httpdyno bench --install $(if $(ARGS),$(ARGS),--repeat 3 --limit 1000)

# Only the tests look for a .NET SDK's layout beside the checkout: `make bench` and `make build` run what DOTNET_LAYOUT names, or nothing.
test-python test-subjects: export DOTNET_LAYOUT ?= $(wildcard ../shared/tools/dotnet-root)

test: test-rust test-python ## Run every test

test-rust: setup ## Run the tests of the crates
	@PYTHONPATH=tests $(BIN)/python -m undisturbed_command cargo test --release --locked --workspace
	@scripts/fuzz --together 60

test-python: setup ## Run the Python tests; select some with ARGS='-k room'
	@scripts/setup-chromium
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $$(grep -hv '^#' tests/contract/subjects.txt tests/contract/servers.txt) || \
	{ [ $$? = 3 ] && echo 'setup: what misses its toolchain is not tested' >&2; }
	@scripts/setup-h2spec
	@scripts/setup-link-witnesses
	@scripts/setup-shells
	@$(BIN)/httpdyno subjects install ab h2load hey rewrk wrk || echo 'setup: some tools cannot be had: the tests that need them will be skipped' >&2
	@scripts/run-tests $(ARGS)

test-subjects: build ## Hold every client and server against the contract
	@scripts/run-tests tests/contract --subject all $(ARGS)

check: setup ## Check format, lint, types and import rules
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check bans licenses; \
	else echo 'skipped: cargo deny (crates and licences that must not come in); install it with: cargo install --locked cargo-deny' >&2; fi
	$(BIN)/ruff format --check python benches tests subjects $(SCRIPTS)
	$(BIN)/ruff check python benches tests subjects $(SCRIPTS)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@unformatted="$$(git ls-files -z '*.go' | xargs -0 -r gofmt -l)"; \
	if [ -n "$$unformatted" ]; then printf 'gofmt would change: %s\n' $$unformatted; exit 1; fi

ratios: setup ## Measure speed beside other programs, and print the ratios; some cases with ARGS='--rounds 5 load-h1'
	@scripts/setup-peers
	@PYTHONPATH=benches $(BIN)/python -m ratios $(ARGS)

fuzz: setup ## Fuzz each parser for SECONDS=900, one after another
	@scripts/fuzz $(or $(SECONDS),900) $(ARGS)

endure: setup ## Kill at random 300 times, fuzz, crawl hostile servers, soak for two hours: seven hours in all
	@scripts/endure kills --count 300
	@scripts/endure hostile
	@scripts/fuzz $(or $(SECONDS),900)
	@scripts/endure soak --hours 2

format: setup ## Bring every file into shape
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format python benches tests subjects $(SCRIPTS)
	$(BIN)/ruff check --fix python benches tests subjects $(SCRIPTS)
	git ls-files -z '*.go' | xargs -0 -r gofmt -w

docs: setup ## Write the generated pages of docs/reference
	$(BIN)/python scripts/write-reference

docs-subjects: build ## Probe every client and server and write docs/reference/subjects.md
	$(BIN)/python scripts/write-subjects

docs-accuracy: setup ## Hold every load tool that is installed to the truth and write docs/concepts/accuracy.md (a quiet quarter of an hour)
	$(BIN)/python scripts/write-accuracy $(ARGS)

wheel: setup ## Build the wheel and the source distribution into dist/
	@scripts/build-wheel

wheel-check: wheel ## Install the wheel into an empty home, and measure with it from an empty folder
	@$(BIN)/python -m pytest -q tests/unit/test_packaging.py
	@scripts/check-wheel

clean: ## Remove what was built here; runs/ and the user's cache stay
	rm -rf target .venv dist LICENSE-THIRD-PARTY .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
