# `make demo` and `make test` are all a newcomer needs; each does its own set-up.

CARGO ?= cargo

.PHONY: help demo test lint bench clean

help:
	@echo "make demo    build, and run the whole way on a bundled table (writes to demo/)"
	@echo "make test    build, and run every test"
	@echo "make lint    formatting and clippy, warnings are errors"
	@echo "make bench   speed against GPyTorch; wants RAYSUM_DATA=folder with uci/"
	@echo "make clean   remove what the others made"

demo:
	@echo "== building raysum (the first time takes a few minutes)"
	$(CARGO) build --release --quiet -p raysum-cli
	@echo "== raysum demo"
	@./target/release/raysum demo --output demo

test:
	@echo "== building and running the tests (the first time takes some minutes)"
	$(CARGO) test --workspace --quiet

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

bench:
	bash bench/run.sh

clean:
	$(CARGO) clean
	rm -rf demo bench/.venv
