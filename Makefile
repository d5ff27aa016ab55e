# `make help` lists the targets. A python3 with pip is all the machine must have.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The stamps are younger than the locks they installed, so a changed lock installs again.
RUN_STAMP := $(VENV)/.run.stamp
DEV_STAMP := $(VENV)/.dev.stamp

.DEFAULT_GOAL := help
.PHONY: help setup demo test simulate lint format types openapi metrics package lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-9s %s\n", $$1, $$2 }'

setup: $(DEV_STAMP) ## make .venv with everything that running, testing and changing needs

demo: $(RUN_STAMP) ## run a whole sale on this machine
	$(BIN)/onsale demo

test: setup ## run what CI runs: lint, types, every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile

lint: setup ## check style and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: setup ## format, and repair what lint can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: setup ## check types
	$(BIN)/mypy

openapi: setup ## write infra/openapi.json from the routes
	$(BIN)/python -m infra.openapi

metrics: setup ## write dashboards, alarms and the README's table from the list of metrics
	$(BIN)/python -m infra.metrics_docs

package: $(RUN_STAMP) ## build the Lambda bundles; build/lambda.zip is the one for ARCH (arm64 if not given)
	ARCH=$(ARCH) $(BIN)/python -m infra.bundle

# The locks hold the newest versions that pyproject.toml allows, for Python 3.11 and later on every platform.
# The second is bound by the first, so that what is tested is what runs; the third is the part of the first that goes
# to Lambda.
UV      := .venv-lock/bin/uv
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --upgrade \
	--python-version 3.11 --custom-compile-command 'make lock'

lock: ## resolve the dependencies again and write the lock files
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --disable-pip-version-check --quiet --upgrade uv
	$(COMPILE) pyproject.toml --group build --extra local --output-file requirements.lock
	$(COMPILE) pyproject.toml --group build --extra dev --constraints requirements.lock \
		--output-file requirements-dev.lock
	$(COMPILE) pyproject.toml --constraints requirements.lock --output-file requirements-lambda.lock
	$(COMPILE) infra/tools.in --output-file infra/tools.lock

simulate: setup ## play SEEDS whole nights in virtual time, with every fault (1000 if not given)
	$(BIN)/python -m tests.simulation.run --seeds $(or $(SEEDS),1000)

clean: ## remove the environments and every cache
	rm -rf .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A python3 without ensurepip (Debian splits it off) still has pip, which can fill another environment.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Onsale needs Python 3.11 or later; name one: make PYTHON=python3.13 ...")'
	$(PYTHON) -m venv $(VENV) || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) \
		&& $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

$(RUN_STAMP): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes --requirement requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_STAMP): requirements-dev.lock $(RUN_STAMP)
	$(PIP) install --require-hashes --requirement requirements-dev.lock
	@touch $@
