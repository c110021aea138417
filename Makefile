# Set-up and checks. On a bare Debian: sudo apt install git make python3 python3-venv
# Variables: PYTHON (3.11 or newer), VENV (where packages go), JOBS (parallel tests).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
JOBS ?= auto
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Small matrices only: threads of BLAS wait for one another more than they compute.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help setup demo test check bench screenshots clean distclean

help:
	@echo "make demo   set up and judge the clips of sample_data"
	@echo "make test   set up and run every check"
	@echo "make check  every check, without set-up"
	@echo "make setup  the environment for development in $(VENV)"
	@echo "make bench  accuracy and speed (minutes)"
	@echo "make screenshots  renew the screenshots of the documentation (minutes)"
	@echo "make clean  remove what runs leave behind (distclean: and $(VENV))"

demo: $(VENV)/.user
	$(BIN)/syncaudit validate sample_data/manifest.jsonl --out out/ --fail-on never

test: $(VENV)/.dev
	$(MAKE) check

setup: $(VENV)/.dev

check:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/flash.py
	$(BIN)/python benchmarks/viewer.py

screenshots: $(VENV)/.dev
	$(BIN)/python gui/images/screenshots.py

clean:
	rm -rf out build dist benchmarks/out .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  .import_linter_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

# Each stamp is made once and again when the dependencies change.
$(VENV)/.user: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.user

# Debian splits ensurepip off into python3-venv; virtualenv or the system's pip can stand in.
$(VENV)/.made:
	@if ! command -v $(PYTHON) >/dev/null; then \
	  echo "No '$(PYTHON)' found. Install it: sudo apt install python3 python3-venv" >&2; exit 1; \
	fi
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  echo "syncaudit needs Python 3.11 or newer, found $$($(PYTHON) --version)." \
	    "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; \
	fi
	@if $(BIN)/python -m pip --version >/dev/null 2>&1; then :; \
	elif $(PYTHON) -c 'import ensurepip' 2>/dev/null; then \
	  $(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -m virtualenv --version >/dev/null 2>&1; then \
	  $(PYTHON) -m virtualenv --quiet $(VENV); \
	elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
	  $(PYTHON) -m venv --without-pip $(VENV); \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; \
	else \
	  echo "$(PYTHON) cannot make virtual environments. Install what is missing:" \
	    "sudo apt install python3-venv" >&2; exit 1; \
	fi
	@touch $@
