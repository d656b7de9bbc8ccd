# The two commands: `make serve` shows the gateway on its demo upstream, `make test` runs all tests.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: serve test check format bench clean help

serve: .venv/runtime ## the gateway on its demo upstream: no network, no keys
	$(BIN)/dragoman serve --demo $(ARGS)

test: .venv/develop ## all tests
	$(BIN)/pytest -n auto --dist loadgroup $(ARGS)

check: .venv/develop ## format, lint, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/develop ## mends what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/develop ## deltas per second of each pair, import time; the gateway beside plain proxies
	$(BIN)/python -m bench
	$(BIN)/python -m bench.gateway $(ARGS)

clean: ## takes away .venv and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

help: ## this list; ARGS='...' goes on to the program: make serve ARGS='--port 4291'
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip==26.3
	@touch $@

.venv/runtime: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/develop: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@ .venv/runtime
