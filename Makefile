# Metronome: `make run` shows it at work, `make test` checks it. Both install what they need into .venv first.

# A Python of 3.11 or newer; any other choice: make PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Test processes at a time.
JOBS ?= 2

VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

.PHONY: help setup run test test-long lint clean distclean preflight

help:
	@echo "make setup      install everything into $(VENV)"
	@echo "make run        build the 4x4 SM, run psort on it in lock step with the golden model"
	@echo "make test       the tests (a quarter of an hour on 2 cores)"
	@echo "make test-long  the tests and the long ones"
	@echo "make lint       ruff and mypy"
	@echo "make clean      remove build products;  make distclean  also $(VENV)"

preflight:
	@if [ -z "$(PYTHON)" ]; then \
		echo "metronome: no Python 3.11 or newer found: install the Debian packages python3 and python3-venv," \
			"or name one: make PYTHON=/path/to/python" >&2; exit 2; fi
	@"$(PYTHON)" scripts/preflight.py

setup: preflight $(READY)

# The stamp is the last step, so an interrupted installation is done again; a changed pyproject.toml installs again.
$(READY): pyproject.toml | preflight
	@echo "installing into $(VENV) (once; about a minute)"
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

run: setup
	$(BIN)/metronome run psort --preset BASE --check

test: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

test-long: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "long or not long"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf build .pytest_cache .ruff_cache .mypy_cache *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
