# Each target sets up .venv by itself, once, from the lock files: `make up` what runs, the others the tools as well.
# Needs make and Python 3.11 or newer, nothing else.
# PYTHON=python3.12 names the interpreter of a new .venv; ARGS="..." is passed on to the command of the target.

PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
ARGS ?=
PROCESSES ?= 2
BIN := .venv/bin
INSTALL := $(BIN)/pip install -qq --disable-pip-version-check
RUNS := .venv/.runs
READY := .venv/.ready
DOCS := .venv/.docs
PAGE := tests/service/web
TESTS := $(BIN)/pytest -q -n $(PROCESSES) --dist loadgroup
LOCK := $(BIN)/uv pip compile --quiet --no-config --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --custom-compile-command "make lock"

ATTACKS := tests/attack tests/browser/test_foreign_pages.py tests/browser/test_hostile_model.py tests/service/security \
	tests/service/operation/test_supervisor.py tests/service/operation/test_connections.py tests/melm/command/test_terminal.py

# Compiled modules are wanted: without them every process starts many times slower.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help up test test-all containers pythons faults fuzz load lint format bench paper audit attack docs lock clean
.DEFAULT_GOAL := help

help: ## List the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1 \t\2/p' Makefile | expand -t 14

up: $(RUNS) ## Start server, worker and API, and print the address (ARGS="--port 9000")
	@$(BIN)/melm up $(ARGS)

test: $(READY) ## Run the tests (ARGS="tests/melm -k gradient", PROCESSES=4)
	@$(TESTS) $(ARGS)

test-all: $(READY) ## Run the slow tests as well: TLS, schemathesis, all methods, all pages, installed wheels
	@$(TESTS) -m "not faults and not containers" $(ARGS)

containers: $(READY) ## Build the image and try the deployment on a real engine (ARGS='-m "containers and not long"' is the short form)
	@$(BIN)/pytest -q -m containers tests/containers $(ARGS)

pythons: $(READY) ## Run the tests of library and worker on each Python that is promised and found (PYTHONS=python3.12)
	@for python in $(PYTHONS); do \
		$$python --version 2>/dev/null || { echo "$$python is not on this machine"; continue; }; \
		folder=.venv/pythons/$$(basename $$python) \
		&& $(BIN)/uv venv --quiet --clear --no-config --python "$$python" $$folder \
		&& VIRTUAL_ENV=$$folder $(BIN)/uv pip install --quiet --no-config --require-hashes --requirement requirements-dev.txt \
		&& VIRTUAL_ENV=$$folder $(BIN)/uv pip install --quiet --no-config --no-deps --editable . \
		&& $$folder/bin/python -m pytest -q tests/melm tests/worker $(ARGS) || exit 1; \
	done

faults: $(READY) ## Run every fault scenario and print what each cost (FAULT_REPEATS=3 CHAOS_SECONDS=1800 ARGS="-k server")
	@FAULT_REPEATS=$${FAULT_REPEATS:-3} $(BIN)/pytest -q -m "" tests/faults $(ARGS)

attack: $(READY) ## Attack a running service in every way that is known, and print what each attack was bound by (ARGS="-k memory")
	@ATTACK_SIZE=full $(BIN)/pytest -q $(ATTACKS) $(ARGS)

fuzz: $(READY) ## Feed every parser what it does not expect, for ten minutes (ARGS="--seconds 60")
	@$(BIN)/python -m tests.fuzz $(ARGS)

load: $(READY) ## Put the service under load for a minute (ARGS="--seconds 600")
	@$(BIN)/python -m bench.load $(ARGS)

lint: $(READY) ## Check all languages, types, the direction of imports and the compose file; changes nothing
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	@if command -v luacheck >/dev/null; then $(BIN)/python -m tests.luacheck; \
		else echo "luacheck is not on this machine (Debian's lua-check): the scripts in Lua are not checked"; fi
	@if command -v npm >/dev/null; then $(MAKE) --silent $(PAGE)/node_modules/.ready && $(PAGE)/node_modules/.bin/eslint \
		--config $(PAGE)/eslint.config.js --max-warnings 0 service/web $(PAGE); \
		else echo "npm is not on this machine: the page's modules in JavaScript are not checked"; fi

format: $(READY) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: $(DOCS) ## Build the documentation into build/docs: runs the examples, checks the links
	@rm -rf docs/api
	@$(BIN)/sphinx-build --builder html --jobs auto --fail-on-warning --quiet $(ARGS) docs build/docs
	@$(BIN)/python docs/checks.py build/docs
	@echo "Open build/docs/index.html"

bench: $(READY) ## Measure speed and write bench/README.md
	@$(BIN)/python -m bench $(ARGS)

paper: $(READY) ## Run the paper's comparison and write docs/paper.md (QUICK=1 for a part of it, DATA=folder of CSV files)
	@$(BIN)/python -m bench.paper $(if $(QUICK),--quick) $(if $(DATA),--data "$(DATA)") $(ARGS)

audit: $(READY) ## Ask whether the pinned versions have known vulnerabilities; needs the network
	@$(BIN)/uvx --quiet --from 'pip-audit>=2.10,<3' pip-audit --requirement requirements.txt --require-hashes --disable-pip --strict \
		--progress-spinner off \
		|| { echo "The pinned versions are not known to be sound: the lines above say what was found, or who could not be asked."; exit 1; }

lock: $(READY) ## Compile the lock files anew from pyproject.toml (ARGS=--upgrade takes newer versions)
	@$(LOCK) --output-file requirements.txt $(ARGS) --extra service pyproject.toml
	@$(LOCK) --output-file requirements-dev.txt $(ARGS) --extra dev --constraint requirements.txt pyproject.toml
	@$(LOCK) --output-file docs/requirements.txt $(ARGS) --group docs --constraint requirements-dev.txt

clean: ## Remove .venv and all caches; data of "make up" stays
	rm -rf .venv build dist docs/gallery docs/api .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PAGE)/node_modules/.ready: $(PAGE)/package-lock.json
	@npm --prefix $(PAGE) ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(RUNS): pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'melm needs Python 3.11 or newer as "$(PYTHON)"; name another one by "make PYTHON=python3.12 ...".'; exit 1; }
	@echo "Setting up .venv from requirements.txt (once; a minute)"
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --require-hashes --requirement requirements.txt
	@$(INSTALL) --no-deps --editable .
	@touch $@

$(READY): $(RUNS) requirements-dev.txt
	@echo "Adding the tools of requirements-dev.txt to .venv (once; a minute)"
	@$(INSTALL) --require-hashes --requirement requirements-dev.txt
	@touch $@

$(DOCS): $(READY) docs/requirements.txt
	@echo "Adding Sphinx and what docs/requirements.txt names to .venv (once)"
	@$(INSTALL) --require-hashes --requirement docs/requirements.txt
	@touch $@
