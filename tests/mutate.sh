#!/bin/sh
# How much the checks see: changes one line of the code after another, builds,
# and runs the checks of that area. A change that no check notices survives.
#   tests/mutate.sh [--seed N] [--count N] [AREA...]
# Takes `count` (10) mutants of each area named (all), the same ones for a seed
# (1). Works in build/mutate on a copy of the last commit; each mutant takes
# from seconds to a minute. What each came to goes to build/mutate.tsv; the last
# line is `N of M killed, K survived`. Mutants that do not compile, or compile
# to the same code, do not count; docs/mutants.md says which survivors are
# equivalent.
set -u
cd "$(dirname "$0")/.." || exit 2
seed=1
count=10
while test $# -gt 0; do
    case $1 in
    --seed) seed=$2; shift 2 ;;
    --count) count=$2; shift 2 ;;
    -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) break ;;
    esac
done

# Each: area; files; test programs, without "test_"; scripts, without "check-".
# Programs and scripts run in this order until one fails.
areas='
record; src/record/[2-9]*.h; zone zone_end records events session policy \
    thread signal writer writer_rows writer_file gpu_record clock blobs names \
    snapshot salvage fork disk_full own_* crash;
reader; src/replay/[345]*.h; reader reader_* describe blobs modules \
    own_golden; cli
replay; src/replay/6*.h src/replay/7[0-4]*.h; replay replay_* whatif survey;
timeline; src/replay/7[6-9]*.h; timeline timeline_* races races_host \
    explore survey replay_figures;
execute; src/replay/8*.h tools/replay/execute*.c; execute execute_* \
    captures compare verify; execute
vdev; backends/ts_vdev*.h; vdev vdev_* blank execute execute_parts;
cuda; backends/ts_cupti*.h backends/ts_cuda*.h; cupti cupti_* cuda_*;
hip; backends/ts_hip*.h; hip_*; hip
opencl; backends/ts_opencl*.h; ; opencl opencl-execute
stack; backends/ts_stack*.h; stack stack_* unwind steps;
nvtx; backends/ts_nvtx*.h; nvtx nvtx_*;
capture; backends/ts_snapshot*.h backends/ts_capture.h \
    backends/ts_records.h; capture capture_core captures record_launches \
    cuda_capture opencl_*;
analyze; tools/analyze/[ac]*.c; analyze_* report; analyze
diff; tools/analyze/diff*.c; diff diff_*; diff
query; tools/query/*.c; query query_*; cli
view; tools/view/*.c tools/info/*.c; view view_trace; cli states
import; tools/import/*.c; import_*; import
export; tools/export/*.c; export export_*; cli
copy; tools/cut/*.c tools/merge/*.c tools/copy/*.c; cut cut_steps merge \
    copy_* anonymise; merge cli
tools; tools/cli/*.c tools/symbolize/*.c tools/record/*.c \
    tools/replay/replay*.c; cli cli_columns names symbols symbols_*; cli \
    stacks capture replay'

tree=build/mutate
table=$PWD/build/mutate.tsv
rm -rf "$tree"
mkdir -p "$tree"
git archive HEAD | tar xC "$tree" || exit 2
cd "$tree" || exit 2
# Mutants are built often and run little.
sed -i 's/^CFLAGS = .*/CFLAGS = -O1/' Makefile
sed -i 's/CFLAGS="-O2 -g1 -Werror"//' tests/check-*.sh
: >"$table"

part() { # N of the area's line
    echo "$line" | cut -d';' -f"$1"
}

programs() {
    for name in $(part 3); do
        for source in tests/test_$name.c; do # names are patterns
            test -e "$source" && basename "${source%.c}"
        done
    done | awk '!seen[$0]++'
}

# What was built, without times and names of folders.
built() {
    find build -name '*.a' -o -name 'ts-*' -type f -o -name 'test_*' -type f |
        grep -v '[.]d$' | sort | xargs sha256sum
}

build() {
    make -k -s -j"$(nproc)" amalgamate && timeout 900 make -s -j"$(nproc)" \
        all $(programs | sed 's,^,build/tests/,')
}

# The first check that fails; nothing: all pass.
killer() {
    local program script
    for program in $(programs); do
        timeout -k 5 120 "build/tests/$program" >log 2>&1 </dev/null || {
            test $? = 77 || { echo "$program"; return; }
        }
    done
    for script in $(part 4); do
        timeout -k 5 600 tests/run.sh "$script" >log 2>&1 </dev/null || {
            echo "check-$script"
            return
        }
    done
}

try() { # FILE LINE KIND TEXT
    cp "$1" original
    awk -v line="$2" -v text="$(printf %s "$4" | sed 's/\\/\\\\/g')" \
        'NR == line { $0 = text } { print }' original >"$1"
    if ! build >log 2>&1; then
        result=invalid
    elif built | cmp -s - same; then
        result=same
    else
        by=$(killer)
        result=${by:+killed}
        result=${result:-survived}
    fi
    printf '%s\t%s\t%s:%s\t%s\t%s\t%s\n' "$result" "$area" "$1" "$2" "$3" \
        "${by:-}" "$(printf %s "$4" | sed 's/^ *//')" | tee -a "$table"
    by=
    cp original "$1"
}

# A backslash joins lines.
# shellcheck disable=SC2162
printf '%s\n' "$areas" | while read line; do
    test -n "$line" || continue
    area=$(part 1)
    case " $* " in *" $area "* | '  ') ;; *) continue ;; esac
    build >log 2>&1 || { echo "$area does not build"; tail log; exit 1; }
    by=$(killer)
    test -z "$by" || { echo "$area: $by fails as it is"; tail log; exit 1; }
    built >same
    awk -v seed="$seed" -f tests/mutate.awk $(part 2) | sort >candidates
    tried=0
    while test "$tried" -lt "$count" &&
        IFS='	' read -r _ file at kind text <&3; do
        try "$file" "$at" "$kind" "$text"
        case $result in killed | survived) tried=$((tried + 1)) ;; esac
    done 3<candidates
    # The next area starts from what was.
    build >log 2>&1
done || exit 1

awk -F'\t' '
    $1 == "killed" || $1 == "survived" { n[$2]++; all++ }
    $1 == "killed" { k[$2]++; killed++ }
    END {
        for (area in n) printf "%-10s %3d of %3d\n", area, k[area], n[area]
        printf "%d of %d killed, %d survived\n", killed, all, all - killed
        exit killed * 10 < all * 9
    }' "$table"
