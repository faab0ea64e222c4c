# Everything a person runs. Needs Linux, python3 (3.11 or later) and make; the rest sets itself up.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup test demo lint bench-setup clean
setup: .venv/.ready

.venv/.ready: requirements/dev.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest

demo: setup
	$(BIN)/python -m examples.demo

bench-setup: setup .venv-bench/.ready

.venv-bench/.ready: requirements/bench.lock
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --require-hashes -r requirements/bench.lock
	touch $@

clean:
	rm -rf .venv .venv-bench .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
