# The Rust crates: declarations against the C headers, tests, documentation and
# clippy without warnings, and zones beside those of C.
. tests/lib.sh
folder=$PWD/build/rust
mkdir -p "$folder"
# Debian's before others: it is the oldest that must do.
test ! -x /usr/bin/cargo || PATH=/usr/bin:$PATH
if ! command -v cargo >/dev/null; then
    check "rust" sh -c 'echo "cargo is not here (Debian: cargo)"; exit 77'
    exit 0
fi
export PATH CARGO_TARGET_DIR="$folder" CARGO_NET_OFFLINE=true
export CARGO_INCREMENTAL=0 # each is built once
check_build "rust: build" build/libtracesmith.a build/ts-info \
    build/examples/pipeline build/libtracesmith-tools.so
check "rust: what it reads of devices" sh -c '
    cd "$0" && ../examples/pipeline >pipeline.log' "$folder"
export TRACESMITH_GPU_TRACE="$folder/trace.sbt"
check "rust: declarations are those of the headers" sh -c '
    cd rust/tracesmith-sys && cargo test -q --locked'
check "rust: cargo test" sh -c 'cd rust/tracesmith && cargo test -q --locked'
check "rust: the feature tools" sh -c '
    export LD_LIBRARY_PATH="$PWD/build"
    cd rust/tracesmith && cargo test -q --locked --features tools --test tools'
# Cargo would ask for the dependencies of an optional feature even where it is
# off: so this crate is one of its own. Debian has what it needs.
check "rust: tracing" sh -c '
    ls -d /usr/share/cargo/registry/tracing-subscriber-* >"$0.there" 2>&1 ||
        { echo "the crate tracing-subscriber is not here (Debian:" \
            "librust-tracing-subscriber-dev)"; exit 77; }
    export TRACESMITH_LIB_DIR="$PWD/build"
    rm -rf "$0" && mkdir "$0" && cp -R rust/tracesmith* "$0"
    printf "[source.crates-io]\nreplace-with = \"debian\"\n" >"$0/config.toml"
    printf "[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n" \
        >>"$0/config.toml"
    cd "$0/tracesmith-tracing" && cargo --config ../config.toml test -q' \
    "$folder/tracing"
check "rust: documentation" sh -c '
    cd rust/tracesmith &&
        RUSTDOCFLAGS="-D warnings" cargo doc -q --locked --no-deps \
            --all-features'
check "rust: clippy" sh -c '
    cd rust && { cargo clippy --version >"$0" 2>&1 ||
        { echo "cargo clippy is not here (Debian: rust-clippy)"; exit 77; }; }
    cargo clippy -q --locked --all-targets --all-features -- -D warnings' \
    "$folder/clippy"
check "rust: layout" sh -c '
    cd rust && { cargo fmt --version >"$0" 2>&1 ||
        { echo "cargo fmt is not here (Debian: rustfmt)"; exit 77; }; }
    cargo fmt --all --check' "$folder/fmt"

# What each costs is printed, and is no verdict: docs/rust.md has the figures.
check "rust: zones of Rust and of C in one trace" sh -c '
    set -e
    cd rust/tracesmith && cargo build -q --locked --release
    cc -std=c11 -O2 -I../.. -c ../../$1/zone_cost.c -o "$0/zone_cost.o"
    rustc --edition 2021 -O ../../$1/zone_cost.rs -o "$0/zone_cost" \
        --extern tracesmith="$0/release/libtracesmith.rlib" \
        -L "$0/release/deps" -C link-arg="$0/zone_cost.o" \
        $(test ! -e /usr/include/zstd.h || echo -l zstd)
    "$0/zone_cost" "$0/cost.sbt" 20 inf
    ../../build/ts-info --verify "$0/cost.sbt"' "$folder" "$HERE"
