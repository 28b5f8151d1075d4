# `make demo` and `make test` are all a newcomer needs; each does its own set-up.

CARGO ?= cargo
PYTHON ?= python3
# Tools that single targets need, installed inside the project.
TOOLS := $(CURDIR)/.tools
# The project's virtual environment.
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
# Incremental compilation makes a first build slower.
export CARGO_INCREMENTAL ?= 0
# Where cargo builds.
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)

.PHONY: help demo test test-rust test-python test-spark test-browser extension lint docs wheel bench soak fuzz audit clean

help:
	@echo "make demo    build, then fit, score, plot and report on a bundled table (writes to demo/)"
	@echo "make test    build, and run every test"
	@echo "make test-spark  the tests of raysum.spark, on a Spark of its own (needs Java)"
	@echo "make test-browser  look at reports in Chromium (installs Playwright, and Chromium if there is none)"
	@echo "make lint    formatting, clippy, ruff and mypy; warnings are errors"
	@echo "make docs    build the documentation site into site/"
	@echo "make wheel   build a wheel, and try it in an empty environment"
	@echo "make bench   speed compared with GPyTorch; needs RAYSUM_DATA=folder with uci/"
	@echo "make soak    kill fits and predictions fifty times each, and check the files"
	@echo "make fuzz    fuzz the readers, FUZZ_SECONDS each (needs nightly Rust)"
	@echo "make audit   licences and known vulnerabilities of all dependencies"
	@echo "make clean   remove all build output"

# All of these build in the development profile with the features of the whole workspace, so that each
# dependency is compiled once.
demo:
	@echo "== building raysum (the first time takes a few minutes)"
	$(CARGO) build --workspace --bin raysum
	@echo "== raysum demo"
	@$(TARGET)/debug/raysum demo --output demo

test: test-rust test-python

test-rust:
	@echo "== building the Rust tests (the first time takes some minutes)"
	$(CARGO) test --workspace --no-run
	@echo "== running the Rust tests"
	$(CARGO) test --workspace --quiet

test-python: extension
	@echo "== building raysum, which shares its files with Python"
	$(CARGO) build --workspace --bin raysum
	@echo "== running the Python tests"
	RAYSUM_BIN="$(TARGET)/debug/raysum" $(BIN)/python -m pytest

# Spark is large, and needs Java: its tests have an environment of their own.
SPARK := $(CURDIR)/.venv-spark

test-spark: $(SPARK)/installed
	@command -v java > /dev/null || apt-get install --yes --no-install-recommends openjdk-17-jre-headless
	@echo "== building the Python extension into .venv-spark"
	VIRTUAL_ENV=$(SPARK) $(SPARK)/bin/maturin develop --features shared-build
	@echo "== running the tests of raysum.spark"
	$(SPARK)/bin/python -m pytest python/tests/test_spark.py

$(SPARK)/installed: python/requirements-spark.txt
	@echo "== installing PySpark into .venv-spark"
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements-spark.txt
	@touch $@

# Reports in a real browser: the Chromium of the system, or one that Playwright downloads.
BROWSER := $(TOOLS)/browser

test-browser: $(BROWSER)/installed
	$(CARGO) build --workspace --bin raysum
	RAYSUM_BIN="$(TARGET)/debug/raysum" $(BROWSER)/bin/python -m pytest -q -p no:cacheprovider \
	  -c /dev/null --rootdir=crates/report/tests/browser crates/report/tests/browser

$(BROWSER)/installed:
	@echo "== installing Playwright into .tools"
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/python -m pip install --quiet --disable-pip-version-check playwright pytest
	command -v chromium || command -v google-chrome || $(BROWSER)/bin/playwright install --with-deps chromium
	@touch $@

extension: $(VENV)/installed
	@echo "== building the Python extension into .venv"
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin develop --features shared-build

$(VENV)/installed: python/requirements.txt
	@echo "== installing Python packages into .venv"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
	@touch $@

lint: $(VENV)/installed
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check python crates/report/tests/browser
	$(BIN)/ruff check python crates/report/tests/browser
	$(BIN)/mypy

# The documentation site; a broken link or reference is an error.
docs: $(CURDIR)/.venv-docs/installed
	$(CARGO) build --workspace --bin raysum
	RAYSUM_BIN="$(TARGET)/debug/raysum" $(CURDIR)/.venv-docs/bin/mkdocs build --quiet --strict
	@echo "== open site/index.html"

$(CURDIR)/.venv-docs/installed: docs/site/requirements.txt
	$(PYTHON) -m venv $(CURDIR)/.venv-docs
	$(CURDIR)/.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# A wheel as users install it, tried in an empty environment.
wheel: $(VENV)/installed
	rm -rf $(TARGET)/wheels $(TARGET)/empty
	$(BIN)/maturin build --release --out $(TARGET)/wheels
	$(PYTHON) -m venv $(TARGET)/empty
	$(TARGET)/empty/bin/python -m pip install --quiet --disable-pip-version-check $(TARGET)/wheels/*.whl
	cd $(TARGET)/empty && bin/python $(CURDIR)/python/smoke.py

bench:
	bash bench/run.sh

soak:
	RAYSUM_KILLS=50 $(CARGO) test -p raysum-cli --test all kill

FUZZ_SECONDS ?= 300

$(TOOLS)/bin/%:
	@echo "== installing $*"
	$(CARGO) install --quiet --root $(TOOLS) $*

fuzz: $(TOOLS)/bin/cargo-fuzz
	for target in table model arguments; do \
	  found=$(TOOLS)/corpus/$$target; mkdir -p $$found; \
	  PATH="$(TOOLS)/bin:$$PATH" $(CARGO) +nightly fuzz run $$target $$found fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=20 || exit 1; \
	done

audit: $(TOOLS)/bin/cargo-deny
	PATH="$(TOOLS)/bin:$$PATH" $(CARGO) deny --all-features check licenses bans sources
	PATH="$(TOOLS)/bin:$$PATH" $(CARGO) deny --all-features check advisories

clean:
	$(CARGO) clean
	rm -rf demo site bench/.venv .venv .venv-docs .venv-spark .tools fuzz/target
