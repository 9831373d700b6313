#!/bin/sh
# Measures how close replays of real traces come to their records: imports
# every file of ${TS_DATA:-../shared/data} and prints a line for each trace,
# and one for each group of traces of one job.
#   bench/accuracy.sh [--save]
#     --save  also into bench/results/, as accuracy-DATE.txt
# Exit status 1: a budget of the design is exceeded; 77: there are no data.
set -eu
save=${1:-}
cd "$(dirname "$0")/.."
out=${OUT:-build}
data=${TS_DATA:-../shared/data}
if ! test -d "$data"; then
    echo "bench/accuracy.sh: no traces in $data: set TS_DATA" >&2
    exit 77
fi
make -s all "$out/bench/accuracy" >&2
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-accuracy.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# Into $dir/NAME.sbt, or $dir/NAME-rank0.sbt and so on.
for file in "$data"/*/*; do
    name=$(basename "$file")
    mkdir "$dir/$name"
    "$out/ts-import" "$file" -o "$dir/$name/$name.sbt" >/dev/null \
        2>"$dir/log" || { echo "$name: not imported:" && cat "$dir/log"; } >&2
done

row() { # name, traces
    name=$1
    shift
    if figures=$("$out/bench/accuracy" "$@" 2>"$dir/log"); then
        printf '%s\t%s\n' "$name" "$figures"
    elif grep -q 'not found' "$dir/log"; then
        printf '%s\tnothing\n' "$name"
    else
        printf '%s\tfailed\n' "$name"
    fi
}
for folder in "$dir"/*/; do
    set -- "$folder"*.sbt
    test -e "$1" || continue
    for trace in "$@"; do
        row "$(basename "$trace" .sbt)" "$trace"
    done
    test $# = 1 || row "$(basename "$folder") jointly" "$@"
done >"$dir/rows"

LC_ALL=C awk -F '\t' -f bench/accuracy.awk "$dir/rows" >"$dir/table" ||
    broken=yes
cat "$dir/table"
if test "$save" = --save; then
    cp "$dir/table" "bench/results/accuracy-$(date +%Y-%m-%d).txt"
fi
test -z "${broken:-}"
