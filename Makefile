# The two commands: `make book` and `make test`. Both need Python 3.11 or later, make, and the network once, to install.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
# What to install: the versions that were measured, or others, as "-e .[book,test]" for today's newest
REQUIREMENTS ?= -r requirements.txt
# Torch's build: cpu, cu130 and others, as uv names them; the package index's own, if none is given
TORCH ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python
SITE := _build/html

# JOBS processes share the cores. More threads each would wait for one another by spinning, at several times the cost.
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS

# Dozens of processes import the same modules: what the first one compiles, the others read.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install book site pdf symbols test style types tests links portable mutants second-engine gpu-check clean

help:
	@echo "make book      execute and verify every chapter, then build the site"
	@echo "make test      lint, check types, run the tests, compare every chapter's outputs with fresh ones"
	@echo "make pdf       print the site that was built as one PDF, with outline and page numbers"
	@echo "make symbols   write into each notebook what its symbols mean, in the words of the page Notation"
	@echo "make portable  build the book and run the tests in other surroundings: processors, cores, languages, clocks, fonts, paths"
	@echo "make links     try the book's links to other sites"
	@echo "make mutants   change some modules in small ways, one at a time: does a unit test fail?"
	@echo "make second-engine  let cvc5 and mpmath try what the chapters prove"
	@echo "make gpu-check run the tests that need a GPU and the training's benchmark on it"
	@echo "make clean     remove what was built; $(VENV) stays"

install: $(INSTALLED)

$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python %d.%d is too old: 3.11 or later is needed; choose one with make PYTHON=..." % sys.version_info[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV): about 1.7 GB, a minute or two"
	$(if $(TORCH),$(PIP) "$$(grep '^uv==' requirements.txt)")
	$(if $(TORCH),$(UV) --torch-backend $(TORCH),$(PIP)) $(REQUIREMENTS)
	$(PIP) --no-deps --editable .
	@touch $@

book: $(INSTALLED)
	$(BIN)/scansnap verify --jobs $(JOBS)
	@$(MAKE) --no-print-directory site

# The pages show the stored outputs, which were just verified. The old build goes first: a page that isn't read again can't warn again.
site: $(INSTALLED)
	rm -rf _build/.doctrees $(SITE)
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet >/dev/null
	@echo "The book: file://$(CURDIR)/$(SITE)/index.html"

# Minutes, in the machine's own Chromium. Folded code isn't printed.
pdf: $(INSTALLED)
	nice -n 10 env PYTHONPATH=site $(BIN)/python -m printing _build/scan-and-snap.pdf

# The site chooses a page's symbols in the same way.
symbols: $(INSTALLED)
	env PYTHONPATH=site/ext $(BIN)/python -m tools.symbols

# Every part runs even when an earlier one failed; make's exit status tells of any failure.
test: $(INSTALLED)
	@$(MAKE) --no-print-directory --keep-going style types tests

style: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache

types: $(INSTALLED)
	$(BIN)/mypy

tests: $(INSTALLED)
	@mkdir -p reports
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --color=no --junitxml=reports/tests.xml \
		--nbval --nbval-current-env --nbval-cell-timeout=300 tests chapters

# As long as `make tests` for each row of surroundings, at low priority, on a checkout of the last commit.
portable: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check time-machine==3.6.0
	nice -n 10 env VENV=$(VENV) tools/portable.sh $(ROW)

links: $(INSTALLED)
	$(BIN)/jupyter-book build . --builder linkcheck --quiet

# At low priority. Changes are made in a copy, the folder mutants. A run goes on from what is there: remove it to begin anew.
mutants: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1
	nice -n 10 $(BIN)/mutmut run --max-children $(JOBS)

# A chapter at a time, up to its last proof.
second-engine: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cvc5==1.4.2
	nice -n 10 $(BIN)/python -m tools.second_engine

gpu-check: $(INSTALLED)
	$(BIN)/python -m pytest -q -m gpu tests/engine tests/text
	$(BIN)/python -m tools.benchmarks.training --device cuda

clean:
	rm -rf _build reports mutants
