# Everything made is under .venv/ and build/; every target can be run again and is quick the second time.
.DELETE_ON_ERROR:
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find shield agentctl audit policies models/tier1 -type f ! -name '*.pyc' 2>/dev/null) pyproject.toml README.md LICENSE
# pytest keeps what it made of each test's assertions: without that it takes half a minute in each worker, every time
TESTING := env -u PYTHONDONTWRITEBYTECODE SHIELD_BARE=$(CURDIR)/build/bare HYPOTHESIS_STORAGE_DIRECTORY=$(CURDIR)/build/hypothesis
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip -qq

.PHONY: all lint test check demo chat bench bench-growth model test-train soak clean

all: build/installed

# the environment: what pyproject.toml names, at the versions of constraints.txt
$(VENV)/ready: pyproject.toml constraints.txt
	@echo 'making .venv from constraints.txt' >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print("\n".join(p["dependencies"] + p["optional-dependencies"]["dev"]))' > $(VENV)/wanted.txt
	@$(PIP) install -c constraints.txt -r $(VENV)/wanted.txt
	@touch $@

# the wheel, built here and installed: tests never see the checkout
build/installed: $(VENV)/ready $(SOURCES)
	@echo 'building the wheel and installing it into .venv' >&2
	@rm -rf build/dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir build/dist . > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@$(PIP) install --no-deps --force-reinstall build/dist/*.whl
	@touch $@

build/installed: | build
build:
	@mkdir -p build

lint: build/installed
	@$(BIN)/ruff check --cache-dir build/ruff .
	@$(BIN)/ruff format --check --cache-dir build/ruff .
	@$(BIN)/mypy --cache-dir build/mypy
	@$(BIN)/lint-imports --cache-dir build/imports
	@$(BIN)/check-wheel-contents build/dist/*.whl

# the built wheel with nothing but its own dependencies
build/bare/ready: build/installed constraints.txt
	@test -x build/bare/bin/python || $(PYTHON) -m venv build/bare
	@PIP_DISABLE_PIP_VERSION_CHECK=1 build/bare/bin/pip -qq install -c constraints.txt --force-reinstall --no-deps build/dist/*.whl
	@PIP_DISABLE_PIP_VERSION_CHECK=1 build/bare/bin/pip -qq install -c constraints.txt build/dist/*.whl
	@touch $@

test: build/installed build/bare/ready
	@$(TESTING) $(BIN)/pytest -n 2 -o cache_dir=build/pytest

check: lint test

demo: build/installed
	@$(BIN)/python -P tests/e2e/demo.py

chat: build/installed
	@$(BIN)/agentctl chat

# other engines, in an environment of their own: they never meet ours
build/peers/ready: | build
	@test -x build/peers/bin/python || $(PYTHON) -m venv build/peers
	@PIP_DISABLE_PIP_VERSION_CHECK=1 build/peers/bin/pip -qq install cedarpy common-expression-language agent-governance-toolkit-core
	@touch $@

bench: build/installed build/peers/ready
	@$(BIN)/python -P benchmarks/run.py

bench-growth: build/installed build/peers/ready
	@$(BIN)/python -P benchmarks/run.py --growth

# the shipped classifier's training once more, with another seed: where it settled from another one, an hour or two of two cores
build/train/ready: pyproject.toml | build
	@test -x build/train/bin/python || $(PYTHON) -m venv build/train
	@PIP_DISABLE_PIP_VERSION_CHECK=1 build/train/bin/pip -qq install '.[train]'
	@touch $@

model: build/train/ready
	@HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONPATH=$(CURDIR) build/train/bin/python -W ignore -P -m models.training.reproduce build/model

# the tests of training and export, which need torch and are skipped without it
test-train: build/train/ready
	@PIP_DISABLE_PIP_VERSION_CHECK=1 build/train/bin/pip -qq install pytest pytest-xdist hypothesis
	@HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONPATH=$(CURDIR) build/train/bin/python -m pytest -n 2 -o cache_dir=build/pytest tests/training

soak: build/installed build/bare/ready
	@SHIELD_SOAK=1 $(TESTING) $(BIN)/pytest -n 2 -o cache_dir=build/pytest

clean:
	@rm -rf build $(VENV)
