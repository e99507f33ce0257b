# Everything starts here: `make lab` to take the course, `make test` to check it.
# One environment, .venv, is made on first use and brought up to date when requirements.txt changes.
# Variables: PYTHON (which Python makes .venv), LAB_ARGS (more arguments for JupyterLab),
# PYTEST_ARGS (more arguments for pytest), BENCH_ARGS, SUBMISSIONS, LAB, OUT and GRADE_ARGS (for `make grade`),
# RELEASE_ARGS, NOTEBOOK, STUDENTS and SIMULATE_ARGS.

.DEFAULT_GOAL := help
.PHONY: help lab test check bench build grade simulate release submit-check gpu-test fmt clean env

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
PYTHON ?=
OUT ?= grading-out
STUDENTS ?= 5000
# Two test processes: the suite is sized for two cores.
WORKERS ?= 2

help:  ## show this list
	@echo "Warpwise: a course on GPU and distributed computing"
	@echo
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

# The first Python from 3.11 to 3.14 that really starts (a version manager's shim may exist and not start).
env:
	@python=""; \
	for candidate in "$(PYTHON)" python3 python3.13 python3.12 python3.14 python3.11 python; do \
	  [ -n "$$candidate" ] || continue; \
	  if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; then \
	    python="$$candidate"; break; \
	  fi; \
	  if [ "$$candidate" = "$(PYTHON)" ]; then \
	    echo "PYTHON=$(PYTHON) is not a Python from 3.11 to 3.14, or does not start." >&2; exit 1; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "No Python from 3.11 to 3.14 was found." >&2; \
	  echo "Install one (Debian or Ubuntu: sudo apt-get install python3 python3-venv; macOS: from python.org)," >&2; \
	  echo "or name one:  make lab PYTHON=/path/to/python3.12" >&2; exit 1; \
	fi; \
	"$$python" warpwise/setup/environment.py --venv $(VENV)

lab: env  ## set everything up and open JupyterLab on the start page
	@$(RUN) -m warpwise lab $(LAB_ARGS)

test: env  ## run every test (installs Chromium and bubblewrap where it may)
	@$(RUN) warpwise/setup/system.py
	@$(RUN) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

check: env  ## lint, types, fast tests, notebooks in sync
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy
	@$(RUN) -m warpwise.authoring --check
	@$(RUN) -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow and not browser and not env and not gpu" $(PYTEST_ARGS)

bench: env  ## measure the simulator, with Numba's beside it, and ranks: BENCH_ARGS="--json FILE" for data
	@$(RUN) -m tests.benchmarks $(BENCH_ARGS)
	@$(RUN) -m tests.benchmarks.ranks
	@$(RUN) -m tests.benchmarks.grading

build: env  ## build notebooks from their text sources
	@$(RUN) -m warpwise.authoring --execute
	@$(RUN) -m warpwise.authoring.baselines

grade: env  ## grade a folder of notebooks, or an archive: make grade SUBMISSIONS=dir LAB=t1_01_threads
	@if [ -z "$(SUBMISSIONS)" ] || [ -z "$(LAB)" ]; then \
	  echo "Name the folder and the lab:  make grade SUBMISSIONS=dir LAB=t1_01_threads [OUT=dir] [GRADE_ARGS=...]" >&2; exit 2; \
	fi
	@$(RUN) -m grading grade "$(SUBMISSIONS)" --lab "$(LAB)" --out "$(OUT)" $(GRADE_ARGS)

simulate: env  ## grade a made-up class with known scores, compare: make simulate LAB=t1_01_threads [STUDENTS=5000] [OUT=dir]
	@if [ -z "$(LAB)" ]; then echo "Name the lab:  make simulate LAB=t1_01_threads [STUDENTS=5000]" >&2; exit 2; fi
	@$(RUN) -m grading simulate $(STUDENTS) --lab "$(LAB)" --out "$(OUT)" $(SIMULATE_ARGS)
	@$(RUN) -m grading grade "$(OUT)/submissions" --lab "$(LAB)" --roster "$(OUT)/roster.csv" --out "$(OUT)/results" $(GRADE_ARGS)
	@$(RUN) -m grading simulate --out "$(OUT)" --check "$(OUT)/results"

release: env  ## make the students' bundle: make release OUT=dir [RELEASE_ARGS="--lab UNIT --quick"]
	@$(RUN) -m grading release "$(OUT)" $(RELEASE_ARGS)

submit-check: env  ## what the grader will do with a notebook: make submit-check NOTEBOOK=file
	@if [ -z "$(NOTEBOOK)" ]; then echo "Name the file:  make submit-check NOTEBOOK=mine/..." >&2; exit 2; fi
	@$(RUN) -m grading submit-check "$(NOTEBOOK)"

gpu-test: env  ## run the tests that need an NVIDIA GPU, and write tests/gpu/REPORT.md
	@$(RUN) -m warpwise doctor --need-gpu
	@WARPWISE_BACKEND=gpu $(RUN) -m pytest -m gpu $(PYTEST_ARGS)
	@WARPWISE_BACKEND=gpu $(RUN) -m tests.gpu.report

fmt: env  ## format the code
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

clean:  ## remove .venv, caches and build leftovers; mine/ stays
	@rm -rf $(VENV) build dist test-artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	@find . -name __pycache__ -type d -not -path './mine/*' -prune -exec rm -rf {} +
	@echo "Clean.  Your answers under mine/ are untouched."
