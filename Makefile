# Needs Python 3.11 or newer and make; everything else goes into .venv.
# Another build of torch:  make test PIP_FLAGS="--index-url … --no-cache-dir" CONSTRAINTS=mine.txt
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
PIP_FLAGS ?=
OUT ?= out
# a folder of real data, for the proofs that need it:  make prove DATA=…
DATA ?=
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: install test demo pictures prove mutate format clean

install: $(READY)

$(READY): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet $(PIP_FLAGS) --constraint $(CONSTRAINTS) --editable ".[plots,serve,dev]"
	@touch $@

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "not slow and not gpu"

demo: $(READY)
	@mkdir -p $(OUT)
	$(BIN)/regard demo dates --out $(OUT)/dates.regard --overwrite

# four pictures of what attention is
pictures: $(READY)
	$(BIN)/python -m examples --out $(OUT)

prove: $(READY)
	REGARD_DATA="$(DATA)" $(BIN)/python -m dev.prove

mutate: test
	$(BIN)/python -m dev.mutate

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OUT) build dist src/*.egg-info
