# Thresher: the verbs of a working day. `make demo` and `make test` set everything up by themselves.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.PHONY: setup demo test test-slow test-gpu test-lowest mutants lint types bench docs clean
.DEFAULT_GOAL := test

setup: .venv/ready ## a virtual environment with the package, its extras and the test tools

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Thresher needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all]" --group test --group lint
	touch .venv/ready

demo: setup ## poison real data, compare three classifiers, write a table, a picture and a report
	$(BIN)/thresher demo

test: setup lint types ## lint, types and the fast suite
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS)

test-slow: setup ## the full counts of the reliability scorecard, and many examples of each property
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -m "slow or hypothesis"

test-gpu: setup ## what runs on a GPU, on that of this machine; needs CuPy or Torch in .venv
	$(BIN)/python -m pytest -m gpu

test-lowest: .venv-lowest/ready ## the fast suite with the oldest versions that pyproject.toml allows
	OPENBLAS_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(WORKERS) -W ignore::DeprecationWarning

# What they need themselves is of today, and may call them outdated: hence no DeprecationWarning.
.venv-lowest/ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		-e ".[all]" --group test
	touch .venv-lowest/ready

mutants: .venv/mutation-ready ## small faults put into four modules, most of which the tests of each must notice
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/mutants.py $(MODULES)

.venv/mutation-ready: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group mutation
	touch .venv/mutation-ready

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

bench: setup ## the performance bars, each ratio measured side by side in one run
	$(BIN)/python -m benchmarks

docs: .venv/docs-ready ## the documents with their gallery as HTML, in docs/_build/html
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.venv/docs-ready: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	touch .venv/docs-ready

clean: ## remove everything that setup and the other verbs made
	rm -rf .venv .venv-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist thresher-demo docs/_build docs/examples docs/api/generated
