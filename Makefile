# Two commands do the work: `make train` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS = $(shell $(PYTHON) -c "import os; free = getattr(os, 'sched_getaffinity', lambda pid: range(os.cpu_count() or 1)); print(min(4, len(free(0)) + 1))")

.PHONY: train test browser stress soak lint learn bench format schema clean

train: $(READY)
	$(BIN)/spotter train CartPole-v1:ppo

# One worker more than cores, for many tests wait for processes; the tests of a file stay together.
test: $(READY) $(VENV)/.browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# A browser for the tests of Studio, if the system has none; nothing fails without one.
browser: $(READY)
	$(BIN)/python -m tests.studio.browser

# Tried once; `make browser` tries again.
$(VENV)/.browser: $(READY)
	$(BIN)/python -m tests.studio.browser
	touch $@

# Every test five times beside two processes that only compute; on a machine without other work.
stress: $(READY)
	$(BIN)/python benchmarks/stress.py

# The fault tests with longer runs and many more kills, and every command of the docs; about half an
# hour on two cores.
soak: $(READY)
	SPOTTER_SOAK=1 $(BIN)/python -m pytest tests/faults tests/policy/test_encoding.py tests/test_package.py tests/docs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/spotter config check
	$(BIN)/spotter config fmt --check src/spotter/recipes/*.yaml src/spotter/recipes/*/*.yaml

# Trains every recipe over three seeds and checks what it promises; under an hour on two cores.
learn: $(READY)
	$(BIN)/python benchmarks/learn.py --write docs/results.md

# Spotter and its peers on the same work, in turn; more than an hour, on an idle machine.
bench: $(READY)
	$(BIN)/python benchmarks/peers/run.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/spotter config fmt src/spotter/recipes/*.yaml src/spotter/recipes/*/*.yaml

schema: $(READY)
	$(BIN)/spotter config schema > docs/reference/recipe.schema.json
	$(BIN)/python docs/reference/metrics_page.py
	$(BIN)/python docs/reference/settings_page.py

$(READY): pyproject.toml setup.py constraints.txt $(wildcard src/spotter/engines/_kernels*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build
