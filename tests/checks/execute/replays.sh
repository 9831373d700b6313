# Functions that the checks of executions share; read after tests/lib.sh, with
# $area and $folder set.
# usage: replays NAME STATUS WHAT-TO-FIND OPTIONS...
replays() {
    name=$1
    status=$2
    find=$3
    shift 3
    check "$area: $name" sh -c '
        status=$1 find=$2
        shift 2
        "$@" >$0 2>&1
        got=$?
        cat $0
        test $got = $status && grep -q -- "$find" $0' \
        "$folder/$(echo "$name" | tr ' ' _).out" "$status" "$find" \
        build/ts-replay --execute --trust --timeout 50 "$@"
}

# usage: counts_once TRACE SUMMARY RAN [OPTIONS...]: see counts.sh
counts_once() {
    local trace summary ran
    trace=$1 summary=$2 ran=$3
    shift 3
    check "$area: ${trace##*/} counts each operation once${*:+, $*}" \
        tests/checks/execute/counts.sh "$trace" "$summary" "$ran" "$@"
}
