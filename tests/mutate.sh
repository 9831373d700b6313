#!/bin/bash
# Measures what the checks detect: changes one line of the code after another,
# builds, and runs the checks of that area. A mutant that no check detects
# survives.
#   tests/mutate.sh [--seed N] [--count N] [--quick] [--again | --resume]
#                   [AREA...]
# Takes `count` (10) mutants of each named area (default: of all areas), the
# same ones for the same seed (1). --again takes those that survived last time,
# --resume continues a run that was stopped. --quick runs no scripts and no
# programs that take longer than two seconds; repeat what survives it with
# --again. JOBS areas run at once (default: the number of processors). The
# script works in build/mutate on a copy of the files that git knows here. The
# result of each mutant is written to build/mutate.tsv; the last line is `N of
# M killed, K survived`. Mutants that do not compile, or compile to the same
# code, do not count; docs/mutants.md lists survivors that change nothing.
#
# Changed code may do anything: as root, this script lets it write only to its
# own folder and to a private /tmp, and ends the processes that it started
# together with the check. A check that takes ten times as long as usual, plus
# half a minute, has failed.
set -u
cd "$(dirname "$0")/.." || exit 2
me=$PWD/tests/mutate.sh
work=$PWD/build/mutate
table=$PWD/build/mutate.tsv
export TS_DATA=${TS_DATA:-$PWD/../shared/data} LC_ALL=C.UTF-8
export CMOCKA_MESSAGE_OUTPUT=TAP MALLOC_PERTURB_=165 # as in checks/unit.sh
usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
seed=1
count=10
again=
resume=
quick=
one=
while test $# -gt 0; do
    case $1 in
    --seed) seed=$2; shift 2 ;;
    --count) count=$2; shift 2 ;;
    --again) again=yes; shift ;;
    --resume) resume=yes; shift ;;
    --quick) quick=yes; shift ;;
    --one) one=$2; shift 2 ;; # an area, in a tree of its own
    -*) usage ;;
    *) break ;;
    esac
done

# Each: area; files; test programs, without "test_"; checks.
# Programs run first, the shortest of them first, until one fails.
areas='
record; src/record/base/*.h src/record/dictionary/*.h \
    src/record/encode/*.h src/record/file/*.h src/record/rings/*.h \
    src/record/salvage/*.h src/record/session/*.h src/record/writer/*.h; \
    zone zone_end events session ring_policy thread signal writer \
    writer_rows writer_file gpu_record clock blobs function_names \
    flight_recorder salvage sidecar fork clone disk_full golden long_times \
    page_size crash stack_store; fault
reader; src/replay/reader/*.h; reader reader_* describe blobs modules \
    golden arena sidecar; cli
replay; src/replay/graph/*.h src/replay/model/*.h; replay replay_* whatif \
    overview;
timeline; src/replay/timeline/*.h src/replay/races/*.h; timeline timeline_* \
    races races_* overview replay_figures;
execute; src/replay/execute/*.h tools/replay/execute/*.c; execute execute_* \
    vdev_captures verify cuda_branches; execute
vdev; backends/ts_vdev*.h backends/vdev/*.h; \
    vdev vdev_* unwritten_memory execute execute_concurrent_failures; execute
cuda; backends/ts_cupti.h backends/ts_cuda*.h backends/cu*/*.h \
    backends/gpu/[!r]*.h; cupti cupti_* cuda_*;
hip; backends/ts_hip.h backends/hip/*.h; hip_*; hip hip-execute
opencl; backends/ts_opencl*.h backends/opencl/*.h; ; opencl opencl-execute
stack; backends/ts_stack.h backends/stack/*.h; stack stack_* signal_steps;
nvtx; backends/ts_nvtx.h backends/nvtx/*.h; nvtx nvtx_*;
capture; backends/ts_capture.h backends/ts_filter.h backends/capture/*.h \
    backends/gpu/records.h; filter capture_* vdev_captures vendor_records \
    record_launches cuda_capture cuda_graphs hip_graph;
analyze; tools/analyze/*/*.c tools/analyze/figures/*/*.c; \
    analyze_* report; analyze
diff; tools/diff/*.c; diff diff_*; diff
query; tools/query/*.c; query query_*; cli
view; tools/view/*.c tools/info/*.c; view view_trace; cli states
import; tools/import/*.c tools/import/*/*.c; import_*; import
export; tools/export/*.c; export export_*; cli
copy; tools/cut/*.c tools/merge/*.c tools/common/rewrite/*.c; cut \
    cut_steps merge rewrite_* anonymise; merge cli
tools; tools/cli/*.c tools/common/symbolize/*.c tools/record/*.c \
    tools/replay/*.c; cli cli_columns function_names own_traces \
    symbols symbols_*; cli stacks capture replay'

part() { # N of the area's line
    echo "$line" | cut -d';' -f"$1"
}

# Those of the area, as tests/ROOM/test_NAME, the shortest first.
programs() {
    local name
    for name in $(part 3); do
        find tests -name "test_$name.c" | sed 's/[.]c$//' # names are patterns
    done | awk '
        FILENAME != "-" { took[$1] = $2; next }
        !seen[$0]++ && (!quick || took[$0] < 200) { print took[$0] + 0, $0 }
        ' quick="$quick" "$work/times" - |
        sort -n | cut -d' ' -f2
}

# Mutants are built often and run little.
build() {
    timeout -k 5 600 make -k -s "$@"
}

# Whatever the command starts ends with it.
contained() { # SECONDS COMMAND...
    local limit=$1
    shift
    if test "$(id -u)" = 0 && unshare -pf true 2>/dev/null; then
        timeout -k 5 "$limit" unshare -pf --mount-proc --kill-child \
            sh -c '"$@"; exit $?' sh "$@"
    else
        timeout -k 5 "$limit" "$@"
    fi
}

# The first check of a script that fails.
failing() {
    contained 900 bash -c '
        awk "/^FAIL/ { sub(/^FAIL */, \"\"); sub(/ \\(.*/, \"\"); print; exit }
            " < <(tests/run.sh "$0" 2>&1 </dev/null | tee script.log)' "$1"
}

# A script that fails as it is judges nothing.
judges() { # SCRIPT
    local said=$work/script-$1
    test -e "$said" || (
        flock 8
        test -e "$said" && exit
        cd "$work/base" && failing "$1" >"$said"
        test ! -s "$said" || echo "$1 fails as it is: $(cat "$said")" >&2
    ) 8>"$work/lock-$1"
    test ! -s "$said"
}

# The first check that fails; nothing: all pass.
killer() { # FILE
    local program script limit status
    for program in $(programs); do
        grep -qx "$program" "$work/broken" && continue
        case $1 in src/*) test -e "build/$program" ;; *) false ;; esac ||
            build "build/$program" >log 2>&1 || continue
        limit=$(awk -v name="$program" \
            '$1 == name { print int(30 + $2 / 10) }' "$work/times")
        contained "$limit" "build/$program" >log 2>&1 </dev/null
        status=$?
        case $status in
        0 | 77) ;;
        124 | 137) echo "${program##*/} does not end"; return ;;
        *) echo "${program##*/}"; return ;;
        esac
    done
    test -z "$quick" || return
    for script in $(part 4); do
        judges "$script" || continue
        failing "$script"
    done | head -n 1
}

# What the compiler makes of a file when it tries harder.
optimised() { # FILE
    local source flags
    flags="-std=c11 -O1 -w -I. $(cat build/found)"
    case $1 in
    src/*)
        touched "$1"
        case $1 in */replay/*) flags="$flags -DTRACESMITH_REPLAY_IMPLEMENTATION"
        esac
        gcc $flags -DTRACESMITH_IMPLEMENTATION -S src/library.c -o -
        ;;
    *.c) gcc $flags -S "$1" -o - ;;
    *)
        for source in backends/ts_inject.c \
            $(programs | sed 's/$/.c/'); do
            gcc $flags -MM "$source" | sed 's,[a-z]*/[.][.]/,,g' |
                grep -q "$1" &&
                gcc $flags -S "$source" -o -
        done
        ;;
    esac | md5sum
}

# The mutants are inside of functions: what only includes the library's header
# is as it was, and so are the times of the header and of the section. What is
# linked with the shared library finds the new one.
touched() { # FILE
    local header=tracesmith.h room
    case $1 in
    src/replay/*)
        header=tracesmith_replay.h
        rm -f build/src/REPLAY_IMPLEMENTATION.o
        ;;
    src/*) rm -f build/src/IMPLEMENTATION.o build/*-inject.so ;;
    *) return ;;
    esac
    room=$(echo "$1" | cut -d/ -f1,2)
    src/amalgamate.sh "$room" >amalgamated
    src/amalgamate.sh --lines "$room" >lines
    touch -r $header "$1" amalgamated lines
    mv amalgamated $header
    mv lines build/lines/$header
    xargs rm -f <"$work/own"
}

try() { # FILE LINE KIND TEXT
    local result=killed by=
    cp "$1" original
    awk -v line="$2" -v text="$(printf %s "$4" | sed 's/\\/\\\\/g')" \
        'NR == line { $0 = text } { print }' original >"$1"
    touched "$1"
    if ! build all >log 2>&1; then
        result=invalid
    else
        by=$(killer "$1")
        test -n "$by" || result=survived
    fi
    test "$result$quick" != survived || optimised "$1" >changed
    cp original "$1"
    test "$result$quick" != survived || ! optimised "$1" | cmp -s - changed ||
        result=same
    touched "$1"
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$result" "$area" "$1" "$2" \
        "$3" "$by" "$4" | tee -a "$table"
    case $result in killed | survived) return 0 ;; esac
    return 1
}

# The same mutant is the one nearest to where it was.
candidates() {
    awk -v seed="$seed" -f tests/mutate.awk $(part 2) | sort >mutants
    if test -z "$again"; then cat mutants; return; fi
    awk -F'\t' -v OFS='\t' -v area="$area" '
        { key = $(NR == FNR ? 3 : 2) OFS $(NR == FNR ? 5 : 4) OFS \
                $(NR == FNR ? 7 : 5) }
        NR == FNR {
            if ($1 != "survived" || $2 != area) next
            was[key] = $4
            far[key] = 1e9
            next
        }
        key in was {
            off = $3 > was[key] ? $3 - was[key] : was[key] - $3
            if (off < far[key]) { far[key] = off; found[key] = $0 }
        }
        END { for (key in found) print found[key] }' "$table.old" mutants
}

# An area, in the tree of this process of xargs.
if test -n "$one"; then
    tree=$work/${MUTATE_SLOT:-0}
    if test "$(id -u)" = 0 && test -z "${MUTATE_INSIDE:-}" &&
        unshare -m true 2>/dev/null; then
        export MUTATE_INSIDE=yes
        mkdir -p "$tree"
        exec unshare -m sh -c '
            tree=$1 work=$2 table=$3
            shift 3
            mount --bind "$work" "$work" && mount --bind "$table" "$table" &&
                mount -o remount,bind,ro / && mount -t tmpfs none /tmp &&
                mount -t tmpfs none /dev/shm && exec "$@"' sh \
            "$tree" "$work" "$table" bash "$me" --seed "$seed" \
            --count "$count" ${again:+--again} ${quick:+--quick} --one "$one"
    fi
    export HOME=/tmp TMPDIR=/tmp
    test -e "$tree/Makefile" || cp -a "$work/base/." "$tree/"
    cd "$tree" || exit 2
    line=$(printf '%s\n' "$areas" | sed -e :a -e '/\\$/N; s/\\\n *//; ta' |
        grep "^$one;")
    area=$one
    candidates >candidates
    tried=0
    while IFS='	' read -r _ file at kind text <&3; do
        test "$tried" -lt "$count" || break
        before=$(awk -F'\t' -v file="$file" -v at="$at" -v kind="$kind" \
            -v text="$text" '$3 == file && $4 == at && $5 == kind &&
                $7 == text { print $1 }' "$table")
        case $before in
        killed | survived) tried=$((tried + 1)) ;;
        '') try "$file" "$at" "$kind" "$text" && tried=$((tried + 1)) ;;
        esac
    done 3<candidates
    exit 0
fi

# The tree as it is, built once; what each program takes, and which are broken.
mkdir -p "$work/base"
rm -rf "$work"/[0-9]* "$work"/script-*
git ls-files -z | xargs -0 cp -pu --parents -t "$work/base" || exit 2
touch "$work/broken" "$work/times"
(
    cd "$work/base" || exit 2
    cp "$OLDPWD/Makefile" .
    sed -i 's/^CFLAGS = .*/CFLAGS = -O0/' Makefile
    sed -i 's/ CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror"//' tests/checks/*.sh
    # A change of the library links nothing again.
    where='\\$$ORIGIN:\\$$ORIGIN/..:\\$$ORIGIN/../..:\\$$ORIGIN/../../..'
    sed -i '
        s,^LINK = .*,& $(SHARED) -Wl\,-rpath\,'"$where"',
        s,^$(OUT)/%: %.c $(LIB)$,$(OUT)/%: %.c | $(SHARED),
        s,^\($(TOOLS): .*\) $(LIB) \(.*\),\1 \2 | $(SHARED),' Makefile
    grep -rl 'define TRACESMITH_\(REPLAY_\)*IMPLEMENTATION' tests examples \
        --include='*.c' --include='*.cpp' | sed 's,[.][a-z]*$,,; s,^,build/,' \
        >"$work/own"
    build -j"$(nproc)" all tests examples >log 2>&1 || { tail log; exit 2; }
    for program in $(find build/tests -name 'test_*' ! -name '*.d'); do
        test "$program" -nt "$work/timed" || continue
        name=${program#build/}
        sed -i "\,^$name\( \|\$\),d" "$work/times" "$work/broken"
        start=$(date +%s%N)
        timeout 300 "$program" >log 2>&1 </dev/null
        case $? in
        0 | 77) ;;
        *) echo "$name" >>"$work/broken" ;;
        esac
        took=$((($(date +%s%N) - start) / 10000000)) # hundredths of a second
        echo "$name $took" >>"$work/times"
    done
    touch "$work/timed"
) || exit 2
sed 's/$/ fails as it is/' "$work/broken"

if test -n "$again"; then mv "$table" "$table.old"; count=1000; fi
test -n "$resume" || : >"$table"
touch "$table"
printf '%s\n' "$areas" | sed -n 's/^\([a-z]*\);.*/\1/p' | while read -r area; do
    case " $* " in *" $area "* | '  ') echo "$area" ;; esac
done | xargs -P "${JOBS:-$(nproc)}" --process-slot-var=MUTATE_SLOT -I AREA \
    bash "$me" --seed "$seed" --count "$count" ${again:+--again} \
    ${quick:+--quick} --one AREA

awk -F'\t' '
    $1 == "killed" || $1 == "survived" { n[$2]++; all++ }
    $1 == "killed" { k[$2]++; killed++ }
    END {
        for (area in n) printf "%-10s %3d of %3d\n", area, k[area], n[area]
        printf "%d of %d killed, %d survived\n", killed, all, all - killed
        exit killed * 10 < all * 9
    }' "$table"
