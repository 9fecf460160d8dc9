# Troupe. `make help` lists what there is; the README says more.
SHELL := /bin/sh
VENV := .venv
PYTHON ?= $(shell sh scripts/find-python)
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run console doctor test slow-callbacks soak check fix

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv and install what the bot needs
	@$(PYTHON) scripts/setup.py

setup-dev:
	@$(PYTHON) scripts/setup.py --dev

run: setup ## Start the Discord bot; without a token, talk to a persona in this terminal
	@$(BIN)/python -m bot

console: setup ## Talk to a persona in this terminal
	@$(BIN)/python -m bot console

doctor: setup ## Test the settings, the models, the database and the disk (python -m bot check)
	@$(BIN)/python -m bot check

test: setup-dev ## Run all tests
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile

slow-callbacks: setup-dev ## Run the tests that use an event loop, and fail where our code holds it for over 100 ms
	@PYTHONASYNCIODEBUG=1 $(BIN)/python -m pytest -q -p tests.slow_callbacks -p no:randomly \
		tests/adapters tests/engine tests/cogs

soak: setup-dev ## 200 kills (kill -9), full load for a minute, two hours of talk with random faults
	$(BIN)/python -m benchmarks crash --kills 200
	$(BIN)/python -m benchmarks load
	$(BIN)/python -m benchmarks soak --minutes 120

check: setup-dev ## Lint, format and types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

fix: setup-dev ## Mend what ruff can mend
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .
