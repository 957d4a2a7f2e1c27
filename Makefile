# The targets that people and continuous integration call; `make` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# What one target builds another one uses.
.NOTPARALLEL:
.PHONY: help setup build bench test test-rust test-python test-fast test-subjects measure check ratios fuzz endure format docs docs-subjects docs-accuracy wheel wheel-check clean

# One target folder and profile everywhere (scripts/setup says why).
export CARGO_TARGET_DIR := $(CURDIR)/target
BIN := .venv/bin
# Those of scripts/ that are Python, which their names do not say.
SCRIPTS := scripts/pages scripts/take-pictures scripts/write-accuracy scripts/write-crawl-table scripts/write-example scripts/write-notices scripts/write-reference scripts/write-subjects

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing, create .venv, build the engine
	@scripts/setup

build: setup ## Install what subjects need and build every one that can be had here
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $(ARGS)

bench: setup ## Crawl 600 URLs with each of eleven clients, six times, and print the table; ARGS adds options: ARGS=--quick
	@scripts/setup-dotnet
	@$(BIN)/httpdyno bench --install $(ARGS)

# Only the tests look for a .NET SDK's layout beside the checkout: `make bench` and `make build` run what DOTNET_LAYOUT names, or nothing.
test test-python test-subjects measure: export DOTNET_LAYOUT ?= $(wildcard ../shared/tools/dotnet-root)
# What is random in a test that decides is the same every time, and a failure leaves no file in the tree.
test-rust: export PROPTEST_RNG_SEED = 1
test-rust measure: export PROPTEST_DISABLE_FAILURE_PERSISTENCE = 1

test: ## Run every test that decides, and say at the end what failed
	@scripts/test

test-rust: setup ## Run the tests of the crates
	@python3 tests/gate.py rust
	@scripts/crates-cache save

test-python: setup ## Run the Python tests; select some with ARGS='-k room'
	@scripts/setup-tests
	@$(BIN)/python tests/gate.py python $(ARGS)

test-fast: setup ## Run the Python tests that need no engine, in under a minute; select some with ARGS='-k judge'
	@$(BIN)/python -m pytest -q --fast -n auto tests/unit tests/golden $(ARGS)

test-subjects: build ## Hold every client and server against the contract
	@$(BIN)/python tests/gate.py python tests/contract --subject all $(ARGS)

measure: setup ## Measure what needs a quiet machine, a clock or luck; ARGS='--since COMMIT' says what crept since then
	@scripts/setup-tests measure
	@$(BIN)/python tests/measure.py $(ARGS)

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
	@PYTHONPATH=benches:scripts $(BIN)/python -m ratios $(ARGS)

fuzz: setup ## Fuzz each parser for SECONDS=900, one after another
	@scripts/fuzz $(or $(SECONDS),900) $(ARGS)

endure: setup ## Kill at random 300 times, fill disks, fuzz, crawl hostile servers, soak for two hours: seven hours in all
	@scripts/endure kills --count 300
	@scripts/endure disks --count 90
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

wheel-check: wheel ## Install the wheel into an empty home, measure with it, and run the steps of the Dockerfile
	@$(BIN)/python -m pytest -q tests/unit/test_packaging.py
	@scripts/check-wheel
	@$(BIN)/python scripts/check-image

clean: ## Remove what was built here; runs/ and the user's cache stay
	rm -rf target .venv dist LICENSE-THIRD-PARTY .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
