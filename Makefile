.DEFAULT_GOAL := help
.PHONY: help setup build static demo test test-bazel bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

setup: ## install what the tests need (Debian packages, NVIDIA's tools into .tools/)
	@scripts/setup test

build: ## build offlink
	cargo build --release

static: ## build offlink with libc and LLVM in it, for empty roots
	@scripts/setup test
	scripts/build-static --release

demo: ## build offlink, link a Rust program with GPU code through it, run that
	@scripts/setup demo
	@scripts/demo

test: ## set up, check format and lints, run all tests and the demo
	@scripts/setup test
	cargo fmt --all --check
	rustfmt --check --edition 2024 $$(find examples fixtures -name '*.rs' -not -path '*/target/*')
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items
	cargo test --workspace
	scripts/demo

test-bazel: ## build bazel/examples with Bazel, locally and remotely; MEASURE=1 measures, too
	@scripts/setup bazel
	cargo build --release
	tests/bazel/run $(if $(MEASURE),--measure)

bench: ## measure offlink beside its peers: all, or QUICK=1, or ROWS="heavy wrap"
	@scripts/setup test
	@benches/bench $(if $(QUICK),--quick) $(ROWS)
	cargo bench -p offlink-bundle

clean: ## remove what was built (not .tools/)
	cargo clean
	rm -rf examples/*/target tests/gpu/out
