# `make run` shows agentctl at work; `make test` installs what the tests need and runs them.
# Both set everything up by themselves; what was set up is not set up again.

.PHONY: run test lint format types docs docs-write bench lock clean
.DEFAULT_GOAL := run

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

run: $(READY)
	@$(BIN)/python examples/demo.py

test: $(READY)
	@$(BIN)/python -m pytest

lint: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

format: $(READY)
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

types: $(READY)
	@$(BIN)/mypy

docs: $(READY)
	@$(BIN)/python docs/generate.py --check

docs-write: $(READY)
	@$(BIN)/python docs/generate.py

bench: $(READY)
	@$(BIN)/python benchmarks/run.py

$(READY): requirements.lock pyproject.toml .ci/setup
	@.ci/setup $(VENV)
	@touch $@

lock:
	uv pip compile pyproject.toml --extra dev --generate-hashes --no-header \
	  --no-emit-index-url --universal --python-version 3.11 --no-annotate -o requirements.lock

clean:
	rm -rf $(VENV) .demo .hypothesis .mypy_cache .pytest_cache .ruff_cache build *.egg-info
