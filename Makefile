# The two commands: `make serve` shows the gateway on its demo upstream, `make test` runs all tests.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: serve test check format bench clients fuzz soak bench-peers clean help

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

bench: .venv/develop ## what library and gateway cost, beside plain proxies: writes docs/performance.md
	$(BIN)/python -m bench --write $(ARGS)

bench-peers: .venv/develop .venv/peers ## the same, beside other gateways as well
	$(BIN)/python -m bench --write --peers .venv/peers $(ARGS)

clients: .venv/develop ## (needs ../shared/clients) all real clients on all upstreams, an hour and a half: writes docs/compatibility.md (../shared/clients)
	../shared/clients/install.sh
	rm -f .clients.jsonl
	-$(BIN)/python -m tests.clients.matrix --out .clients.jsonl $(ARGS)
	$(BIN)/python -m tests.clients.table .clients.jsonl

.clients: .venv/develop $(wildcard tests/clients/pins/*/package-lock.json)
	$(BIN)/python -m tests.clients.install
	@touch $@

fuzz: .venv/fuzz ## looks for inputs that break a promise: ARGS='--target framing --seconds 600'
	$(BIN)/python -m tests.fuzz $(ARGS)

soak: .venv/develop ## many streams at once, and many that are dropped, through one gateway process
	$(BIN)/python -m bench.soak $(ARGS)

clean: ## takes away .venv and all caches
	rm -rf .venv .clients .clients.jsonl .mypy_cache .ruff_cache .pytest_cache .hypothesis

help: ## this list; ARGS='...' goes on to the program: make serve ARGS='--port 4291'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

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

.venv/fuzz: .venv/develop
	$(BIN)/pip install --quiet --disable-pip-version-check --group fuzz
	@touch $@

.venv/peers: bench/peers.txt
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/pip install --quiet --disable-pip-version-check --requirement bench/peers.txt
	@touch $@
