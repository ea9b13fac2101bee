# Metronome: `make run` shows it at work, `make test` checks it. Both install what they need into .venv first.

# A Python from 3.11 to 3.13; any other choice: make PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo $$p; break; }; done)

# Test processes at a time.
JOBS ?= 2

# Which tests: folders or files below tests/, by default all. make check PART=hdl/memory
PART ?=

# Python keeps compiled modules, whatever the caller's environment says: without them a process starts seconds later.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

.PHONY: help setup run check test test-more test-long bench docs lint clean distclean preflight

help:
	@echo "make setup      install everything into $(VENV)"
	@echo "make run        build the 4x4 SM, run psort on it in lock step with the golden model"
	@echo "make check      the quick tests: run them after every change"
	@echo "make test       the tests of every promise: run them before you share a change"
	@echo "make test-more  more sizes, seeds and kernels of the same: CI runs them after make test"
	@echo "make test-long  all tests (hours): run them before a release"
	@echo "                each with PART=hdl/memory: only the tests below tests/hdl/memory; JOBS=4: on 4 cores"
	@echo "make bench      speed, area and clock rate of this commit, in build/bench; COMPARE=RECORD: what has changed since"
	@echo "make docs       the documentation as a site: build/docs/html/index.html"
	@echo "make lint       ruff, mypy, the import contracts, and spelling"
	@echo "make clean      remove build products;  make distclean  also $(VENV)"

preflight:
	@if [ -z "$(PYTHON)" ]; then \
		echo "metronome: no Python from 3.11 to 3.13 found: install the Debian packages python3 and python3-venv," \
			"or name one: make PYTHON=/path/to/python" >&2; exit 2; fi
	@if ! command -v "$(PYTHON)" >/dev/null; then \
		echo "metronome: there is no program $(PYTHON): name a Python from 3.11 to 3.13: make PYTHON=/path/to/python" >&2; \
		exit 2; fi
	@"$(PYTHON)" sim/build/preflight.py

setup: preflight $(READY)

# The stamp is the last step, so an interrupted installation is done again; a changed pyproject.toml installs again.
$(READY): pyproject.toml | preflight
	@echo "installing into $(VENV) (once; about a minute)"
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

run: setup
	$(BIN)/metronome run psort --preset BASE --check

# A test's marks decide which of the three run it: tests/conftest.py.
# In the order of tests/conftest.py: pytest-xdist would begin with the largest groups, and wait for simulations at the end.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --durations 10 --durations-min 1

check: setup
	$(PYTEST) -m "not slow and not more and not long" $(PART:%=tests/%)

test: setup
	$(PYTEST) -m "not more and not long" $(PART:%=tests/%)

test-more: setup
	$(PYTEST) -m "more and not long" $(PART:%=tests/%)

test-long: setup
	$(PYTEST) -m "" $(PART:%=tests/%)

# An earlier record to compare with, by default none.
COMPARE ?=

bench: setup
	@mkdir -p build/bench
	$(BIN)/metronome bench --preset BASE --predict --repeat 5 --synth scheduler,scoreboard,alu $(COMPARE:%=--compare %) \
		--json build/bench/$$(date +%F)-$$(git rev-parse --short=12 HEAD 2>/dev/null || echo no-commit).json

# Sphinx and its theme are installed for this alone.
docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python docs/site.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

clean:
	rm -rf build .pytest_cache .ruff_cache .mypy_cache .import_linter_cache *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
