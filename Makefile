# Targets for people and continuous integration; `make` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Targets use each other's results.
.NOTPARALLEL:
.PHONY: help setup build bench test test-rust test-python test-fast test-subjects test-cluster measure check ratios bare fuzz endure format docs docs-subjects docs-odd-answers docs-wild-clients docs-conformance docs-accuracy find-accuracy wheel wheel-check clean

# One target folder and profile for everything (scripts/setup gives the reason).
export CARGO_TARGET_DIR := $(CURDIR)/target
BIN := .venv/bin
# Python files in scripts/ without the suffix .py.
SCRIPTS := scripts/pages scripts/count-steps scripts/take-pictures scripts/write-accuracy scripts/write-conformance scripts/write-crawl-table scripts/write-example scripts/write-find-accuracy scripts/write-notices scripts/write-odd-answers scripts/write-reference scripts/write-subjects scripts/write-wild-clients

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing, create .venv, build the engine
	@scripts/setup

build: setup ## Install the needs of subjects and build every subject that this machine supports
	@scripts/setup-dotnet
	@$(BIN)/httpdyno subjects install $(ARGS)

bench: setup ## Crawl 600 URLs with each of eleven clients, six times, and print the table; ARGS adds options: ARGS=--quick
	@scripts/setup-dotnet
	@$(BIN)/httpdyno bench --install $(ARGS)

# Only tests use the .NET layout next to the checkout: `make bench` and `make build` use DOTNET_LAYOUT if it is set, else none.
test test-python test-subjects measure: export DOTNET_LAYOUT ?= $(wildcard ../shared/tools/dotnet-root)
# Fixed seeds make tests reproducible, and a failure leaves no file in the tree.
test-rust: export PROPTEST_RNG_SEED = 1
test-rust measure: export PROPTEST_DISABLE_FAILURE_PERSISTENCE = 1

test: ## Run every deterministic test and list the failures at the end
	@scripts/test

test-rust: setup ## Run the tests of the crates
	@python3 tests/gate.py rust
	@scripts/crates-cache save

test-python: setup ## Run the Python tests; select some with ARGS='-k room'
	@scripts/setup-tests
	@$(BIN)/python tests/gate.py python $(ARGS)

test-fast: setup ## Run the Python tests that need no engine, in under a minute; select some with ARGS='-k judge'
	@$(BIN)/python -m pytest -q --fast -n auto tests/unit tests/golden $(ARGS)

test-subjects: build ## Check every client and server against the contract
	@$(BIN)/python tests/gate.py python tests/contract --subject all $(ARGS)

test-cluster: setup ## Run the tests that need Ray, which is installed into target/cluster (250 MB)
	@scripts/test-cluster $(ARGS)

measure: setup ## Run the tests that need a quiet machine, a clock or luck; ARGS='--since COMMIT' lists what grew since then
	@scripts/setup-tests measure
	@$(BIN)/python tests/measure.py $(ARGS)

check: setup ## Check format, lint, types, import rules and the links of the pages
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path benches/bare/Cargo.toml --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check bans licenses; \
	else echo 'skipped: cargo deny (crates and licences that must not come in); install it with: cargo install --locked cargo-deny' >&2; fi
	$(BIN)/ruff format --check python benches tests subjects $(SCRIPTS)
	$(BIN)/ruff check python benches tests subjects $(SCRIPTS)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q -n0 tests/unit/test_page_links.py
	@unformatted="$$(git ls-files -z '*.go' | xargs -0 -r gofmt -l)"; \
	if [ -n "$$unformatted" ]; then printf 'gofmt would change: %s\n' $$unformatted; exit 1; fi

ratios: setup ## Measure speed relative to other programs, and print the ratios; some cases with ARGS='--rounds 5 load-h1'
	@scripts/setup-peers
	@PYTHONPATH=benches:scripts $(BIN)/python -m ratios $(ARGS)

bare: ## Build and test the bare loops over epoll and io_uring that bound every server and generator (benches/bare)
	cargo test --release --locked --manifest-path benches/bare/Cargo.toml
	cargo build --release --locked --manifest-path benches/bare/Cargo.toml

fuzz: setup ## Fuzz each parser for SECONDS=900, one after another
	@scripts/fuzz $(or $(SECONDS),900) $(ARGS)

endure: setup ## Kill at random 300 times, fill disks, fuzz, crawl hostile servers, soak for two hours: seven hours in all
	@scripts/endure kills --count 300
	@scripts/endure disks --count 90
	@scripts/endure hostile
	@scripts/fuzz $(or $(SECONDS),900)
	@scripts/endure soak --hours 2

format: setup ## Format every file
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	cargo fmt --manifest-path benches/bare/Cargo.toml
	$(BIN)/ruff format python benches tests subjects $(SCRIPTS)
	$(BIN)/ruff check --fix python benches tests subjects $(SCRIPTS)
	git ls-files -z '*.go' | xargs -0 -r gofmt -w

docs: setup ## Write the generated pages of docs/reference
	$(BIN)/python scripts/write-reference

docs-subjects: build ## Probe every client and server and write docs/reference/subjects.md
	$(BIN)/python scripts/write-subjects

docs-odd-answers: setup ## Have seven clients read odd answers and write docs/reference/odd-answers.md (a minute)
	$(BIN)/python scripts/write-odd-answers

docs-wild-clients: setup ## Have each built client crawl the web wild and write docs/reference/wild-clients.md (a few minutes)
	$(BIN)/python scripts/write-wild-clients $(ARGS)

docs-conformance: setup ## Write docs/results/conformance from runs of conform: ARGS='runs/20261129T031625Z-conformance'
	$(BIN)/python scripts/write-conformance $(ARGS)

docs-accuracy: setup ## Check every installed load tool against known truths and write docs/concepts/accuracy.md (15 minutes on a quiet machine)
	$(BIN)/python scripts/write-accuracy $(ARGS)

find-accuracy: setup ## Search the highest rate of servers with a known capacity and write docs/concepts/accuracy.md (2 hours on a quiet machine; ARGS='--only queue --searches 5')
	$(BIN)/python scripts/write-find-accuracy $(ARGS)

wheel: setup ## Build the wheels of httpdyno and of its engine alone, and their sources, into dist/
	@scripts/build-wheel

wheel-check: wheel ## Install the wheel into an empty home, measure with it, and run the steps of the Dockerfile
	@$(BIN)/python -m pytest -q tests/unit/test_packaging.py
	@scripts/check-wheel
	@$(BIN)/python scripts/check-image

clean: ## Remove everything built in this checkout, except runs/ and the user's cache
	rm -rf target .venv dist LICENSE-THIRD-PARTY .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
