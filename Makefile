# Set-up and the main jobs. `make study` and `make test` install what they need; run again, they skip what is done.
#   PYTHON=python3.12   which Python makes the virtual environment (3.11 to 3.13)
#   DEVICE=gpu          TensorFlow with CUDA and Horovod with NCCL (not yet run on a GPU)

SHELL := /bin/bash
PYTHON ?= python3
DEVICE ?= cpu
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
STAMP := $(VENV)/stamps
PEERS := benchmarks/peers/.venv

.PHONY: help setup study test faults lint check clean $(PEERS)
help:
	@echo "make study   set up, then train and analyse the default study"
	@echo "make test    set up, then run all tests"
	@echo "make setup   only set up: environment in $(VENV), Horovod built for its TensorFlow"
	@echo "make faults  kill processes of a small study 200 times; its log is benchmarks/faults.log (half an hour)"
	@echo "make lint    formatters, linters and the type checker"
	@echo "make $(PEERS)   an environment of what the benchmarks compare with"
	@echo "make clean   remove what was built; keeps the environment, results and figures"

study: export SEEDSTUDY_STARTED := $(shell date +%s)
study: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/run_study.py

test: setup $(STAMP)/dev
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n auto -m "not slow"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m slow

faults: setup $(STAMP)/dev
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.workflow.faults

lint: setup $(STAMP)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --lint

setup: $(STAMP)/package

# Prerequisites are checked before anything is built: one line says what is missing.
check:
	@command -v $(PYTHON) >/dev/null || { echo "setup: no $(PYTHON); install Python 3.11 to 3.13, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) tools/check_prerequisites.py

$(STAMP)/requirements: requirements/$(DEVICE).txt | check
	@echo "setup: environment in $(VENV) (1 of 3)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setup: packages of requirements/$(DEVICE).txt (2 of 3)"
	@$(PIP) install --require-hashes -r requirements/$(DEVICE).txt
	@mkdir -p $(STAMP) && touch $@

$(STAMP)/horovod: $(STAMP)/requirements requirements/horovod.txt tools/build_horovod.py
	@echo "setup: Horovod (3 of 3)"
	@$(BIN)/python tools/build_horovod.py $(DEVICE)
	@touch $@

$(STAMP)/package: $(STAMP)/horovod pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(STAMP)/dev: $(STAMP)/requirements requirements/dev.txt
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# What the benchmarks compare with (PyTorch, ranx, RecBole): 6 GB, wanted by no other target.
$(PEERS): $(PEERS)/stamps/requirements

$(PEERS)/stamps/requirements: benchmarks/peers/requirements.txt benchmarks/peers/recbole.txt | check
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r $<
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -q install --no-deps --require-hashes -r benchmarks/peers/recbole.txt
	@mkdir -p $(@D) && touch $@

clean:
	rm -rf build logs .snakemake
