# Functions that the checks share; read with `. tests/lib.sh` from the
# project's root. $HERE is the folder with the files that only this check
# needs: tests/checks/NAME. `check NAME COMMAND...` runs a command and prints
# one line and, if it failed, its whole output. Exit status 77 is a skip: the
# last line of the output is the reason. A program that prints TAP, as cmocka
# does here, counts as many checks as it plans. $TS_RESULTS gets a line for
# each: passed, failed or skipped, processor seconds, name. `check_later` does
# not wait for its command; `wait`, or the end of the script, waits for all of
# them.

export HERE=${0%.sh}
export CMOCKA_MESSAGE_OUTPUT=TAP
export LC_ALL=C.UTF-8
JOBS=$(nproc 2>/dev/null || echo 1)
TS_LOGS=${TS_LOGS:-build/check-logs}
mkdir -p "$TS_LOGS"
# Traces that checks record are listed here, not in the user's own folder.
export XDG_STATE_HOME=$PWD/build/state
mkdir -p -m 700 "$XDG_STATE_HOME"
CLANG=$(tests/clang.sh)
CLANGXX=$(echo "$CLANG" | sed s/clang/clang++/)
unset MAKEFLAGS MFLAGS # a check's make is its own

# As many checks run at once, of all scripts together, as there are processors:
# each takes a line from this pipe and puts it back.
if test -z "${TS_SLOTS:-}"; then
    TS_SLOTS=$(mktemp -u)
    mkfifo "$TS_SLOTS" && exec 9<>"$TS_SLOTS" && rm "$TS_SLOTS" || exit 2
    for _ in $(seq "$JOBS"); do echo; done >&9
    export TS_SLOTS
fi
trap wait EXIT

# TAP of a log as "passed failed skipped". Lines are counted once: a forked
# child may repeat what its parent had buffered. What was planned but never
# reported, because the program died, has failed.
count_tap() {
    awk '
        /^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
        match($0, /(not )?ok [0-9]+ # SKIP .*/) { # cmocka 1.1: not ok
            if (!seen[substr($0, RSTART)]++) skipped++
            next
        }
        /not ok [0-9]+ / { next }
        match($0, /ok [0-9]+ - .*/) {
            if (!seen[substr($0, RSTART)]++) passed++
        }
        END { print passed + 0, planned - passed - skipped, skipped + 0 }
    ' "$1"
}

run_check() {
    local name log start status took
    name=$1
    shift
    log=$TS_LOGS/$(printf %s "$name" | tr -c 'a-zA-Z0-9' _).log
    start=$(date +%s%3N)
    status=0
    # What a shell starts with & ignores these signals.
    timeout -k 5 "${LIMIT:-300}" env --default-signal=INT,QUIT "$@" \
        >"$log" 2>&1 </dev/null 9<&- || status=$?
    took=$(($(date +%s%3N) - start))
    took=$((took / 1000)).$((took / 100 % 10)) # to a tenth of a second
    times >"$log.times" # its second line: what this shell has waited for
    if grep -q '^1\.\.[0-9][0-9]*$' "$log"; then
        set -- $(count_tap "$log")
        test "$status" = 0 || test "$2" != 0 || set -- "$1" 1 "$3"
    elif test "$status" = 0; then
        set -- 1 0 0
    elif test "$status" = 77; then
        set -- 0 0 1
    else
        set -- 0 1 0
    fi
    echo "$@" "$(awk -F '[ms ]+' 'NR == 2 {
        printf "%.1f", ($1 + $3) * 60 + $2 + $4
    }' "$log.times")" "$name" >>"$TS_RESULTS"
    rm "$log.times"
    if test "$2" != 0; then
        printf 'FAIL  %s (exit status %s, %s s)\n' "$name" "$status" "$took"
        test "$status" != 124 || echo "    not done after ${LIMIT:-300} s"
        tail -n "${LINES_SHOWN:-200}" "$log" | sed 's/^/    /'
    elif test "$1" = 0; then
        printf 'skip  %s: %s\n' "$name" "$(tail -n 1 "$log")"
    elif test "$1 $3" = '1 0'; then
        printf 'ok    %s (%s s)\n' "$name" "$took"
    else
        printf 'ok    %s (%s passed, %s skipped, %s s)\n' "$name" "$1" "$3" \
            "$took"
    fi
    return 0
}

check() {
    local said
    read -r said <&9
    said=$(run_check "$@")
    echo >&9
    printf '%s\n' "$said" # in one piece
}

check_later() {
    check "$@" &
}

# Makes targets; goes on after an error, so that one run shows all of them. Of
# two that build in one folder one waits for the other. Hundreds of programs are
# linked, in half the time where binutils has gold, which would show more of a
# shared library than it should.
check_build() {
    local LIMIT label folder word linker
    linker=
    ! command -v ld.gold >/dev/null || linker=PROGRAM_LDFLAGS=-fuse-ld=gold
    LIMIT=900
    label=$1
    shift
    folder=build
    for word; do
        case $word in OUT=*) folder=${word#OUT=} ;; esac
    done
    mkdir -p "$folder"
    check "$label" flock "$folder/lock" \
        make --no-print-directory -k -s -j"$JOBS" $linker "$@"
}

# Makes targets in $alone, with a compiler and xxHash alone.
alone=build/alone
build_alone() { # LABEL TARGET...
    local label
    label=$1
    shift
    # shellcheck disable=SC2046 # a list: HAVE_ZSTD= HAVE_ZLIB= ...
    check_build "$label" OUT=$alone CFLAGS="-O0 -Werror" \
        $(sed -n '/HAVE_C /d; /HAVE_XXHASH /d
            s/^\(HAVE_[A-Z0-9]*\) := .*/\1=/p' Makefile) "$@"
}

# The unit test programs, as tests/ROOM/test_NAME. WITHOUT and NEVERTHELESS hold
# patterns of names: those that match WITHOUT are left out, unless they match
# NEVERTHELESS too.
test_programs() {
    find tests -name 'test_*.c' -o -name 'test_*.cpp' | sed 's/[.][a-z]*$//' |
        sort | while read -r program; do
        matches "${program##*/}" "${WITHOUT:-}" &&
            ! matches "${program##*/}" "${NEVERTHELESS:-}" || echo "$program"
    done
}

# usage: matches NAME PATTERNS
matches() {
    local name pattern
    name=$1
    set -f
    set -- $2
    set +f
    for pattern; do
        case $name in $pattern) return 0 ;; esac
    done
    return 1
}

# Runs the programs of test_programs.
# usage: check_programs LABEL FOLDER [COMMAND that runs them...]
check_programs() {
    local label folder program
    label=$1
    folder=$2
    shift 2
    for program in $(test_programs); do
        check_later "$label: ${program##*/}" "$@" "$folder/$program"
    done
    wait
}
