# The targets that people and continuous integration call; `make` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Tests measure times: two sets of them would disturb each other.
.NOTPARALLEL:
.PHONY: help setup build bench test test-rust test-python test-subjects check ratios format docs docs-subjects clean

# One target folder and profile everywhere (scripts/setup says why).
export CARGO_TARGET_DIR := $(CURDIR)/target
BIN := .venv/bin

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing, create .venv, build the engine
	@scripts/setup

build: setup ## Install what subjects need and build every one that can be had here
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $(ARGS)

bench: setup ## Crawl 1,000 URLs with each of eleven clients, three times, and print the table; a first look with ARGS=--quick
	@scripts/setup-dotnet
	@$(BIN)/httpdyno bench --install $(if $(ARGS),$(ARGS),--repeat 3 --limit 1000)

test: test-rust test-python ## Run every test

test-rust: setup ## Run the tests of the crates
	cargo test --release --locked --workspace

test-python: setup ## Run the Python tests; select some with ARGS='-k room'
	@scripts/setup-chromium
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $$(grep -v '^#' tests/contract/subjects.txt)
	$(BIN)/python -m pytest $(ARGS)

test-subjects: build ## Hold every client against the contract (about an hour)
	$(BIN)/python -m pytest tests/contract --subject all $(ARGS)

check: setup ## Check format, lint, types and import rules
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check bans; \
	else echo 'skipped: cargo deny (crates that must not come in); install it with: cargo install --locked cargo-deny' >&2; fi
	$(BIN)/ruff format --check python tests subjects scripts/write-reference scripts/write-subjects scripts/take-pictures
	$(BIN)/ruff check python tests subjects scripts/write-reference scripts/write-subjects scripts/take-pictures
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@unformatted="$$(git ls-files -z '*.go' | xargs -0 -r gofmt -l)"; \
	if [ -n "$$unformatted" ]; then printf 'gofmt would change: %s\n' $$unformatted; exit 1; fi

ratios: setup ## Run the benchmarks against peers (needs nginx and wrk)
	cargo bench --locked --package dyno-http --bench httparse
	crates/dyno-origin/benches/origin-against-nginx.sh

format: setup ## Bring every file into shape
	cargo fmt --all
	$(BIN)/ruff format python tests subjects scripts/write-reference scripts/write-subjects scripts/take-pictures
	$(BIN)/ruff check --fix python tests subjects scripts/write-reference scripts/write-subjects scripts/take-pictures
	git ls-files -z '*.go' | xargs -0 -r gofmt -w

docs: setup ## Write the generated pages of docs/reference
	$(BIN)/python scripts/write-reference

docs-subjects: build ## Probe every client and write docs/reference/subjects.md
	$(BIN)/python scripts/write-subjects

clean: ## Remove what was built here; runs/ and the user's cache stay
	rm -rf target .venv dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
