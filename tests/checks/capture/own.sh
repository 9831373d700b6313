#!/bin/sh
# Programs with a session of their own under ts-record: one trace has what they
# recorded and what was heard from outside; their own stays as it is.
#   tests/checks/capture/own.sh FOLDER WHICH
set -eu
folder=$1/own_$2
program=$PWD/$1/own
rm -rf "$folder"
mkdir -p "$folder"
tools=$PWD/build
cd "$folder"
trap 'cat said out' EXIT

record() { # STATUS COMMAND...
    want=$1 got=0
    shift
    "$tools/ts-record" -o all.sbt "$@" >out 2>said </dev/null || got=$?
    test "$got" = "$want"
    test -z "$(ls -d all.sbt.* 2>&- || :)"
}
zones() { # of a trace: "TRACK NAME" in order of time
    "$tools/ts-view" --events --kinds zone --limit 0 --json "$1" 2>&- |
        sed -n 's/.*"track": \([0-9]*\),.*"label": "\([^"]*\)".*/\1 \2/p'
}
threads() {
    "$tools/ts-info" all.sbt | grep -c '^    thread'
}
has() { # ZONES of the trace by name: COUNT NAME
    zones all.sbt | cut -d ' ' -f 2 | sort | uniq -c | sed 's/^ *//' >zones
    printf '%s\n' "$@" | diff -u - zones
}
said() {
    grep -q "$1" said
}

case $2 in
plain) # on one track: the range lies within the program's own zone
    record 3 "$program" plain own.sbt
    said "own.sbt, which the program recorded itself, is in it"
    zones all.sbt >zones
    awk '{ print $2 } NR % 2 == 0 && $1 != last { exit 1 } { last = $1 }
        ' zones | tr '\n' ' ' | grep -qx "mine theirs mine theirs "
    test "$(threads)" = 2
    "$tools/ts-info" --verify all.sbt | grep -q "^Lost: nothing"
    test "$(zones own.sbt | wc -l)" = 2
    ;;
alone) # nothing is loaded into it
    record 3 "$program" alone own.sbt
    has "2 mine"
    said "2 events in .* of 1 process"
    ;;
example)
    record 0 "$tools/examples/hello"
    has "3 work"
    test "$(zones hello.sbt | wc -l)" = 3
    ;;
pipeline) # a device of its own
    record 0 "$tools/examples/pipeline" -o own.sbt --frames 3
    said "recorded 15 of 15 launches"
    for trace in own all; do
        "$tools/ts-info" $trace.sbt | awk '/^Events/, /^  all/ {
            print $1, $2 }' >$trace.counts
    done
    diff own.counts all.counts
    ;;
same) # the program names its trace as ts-record is to name its own
    record 3 "$program" plain all.sbt
    has "2 mine" "2 theirs"
    record 3 "$program" alone all.sbt
    has "2 mine"
    ;;
again) # two sessions, and two in one file
    record 3 "$program" again own.sbt more.sbt
    has "4 mine" "4 theirs"
    test "$(threads)" = 3
    record 3 "$program" again own.sbt own.sbt
    has "2 mine" "4 theirs"
    said "1 trace that the program recorded itself is no longer there"
    ;;
moved)
    record 3 "$program" moved own.sbt elsewhere.sbt
    has "2 theirs"
    said "is no longer there: it has replaced, moved or removed it"
    rm all.sbt
    record 0 sh -c '"$0" alone own.sbt; rm own.sbt' "$program"
    test ! -e all.sbt
    said "is no longer there"
    ;;
child)
    record 3 "$program" child own.%p.sbt
    has "4 mine" "4 theirs"
    test "$(threads)" = 3
    test "$(ls own.*.sbt | wc -l)" = 2
    ;;
exec) # one number, two programs
    record 3 "$program" exec own.sbt more.sbt
    has "4 mine" "4 theirs"
    ;;
kill)
    record 137 "$program" kill own.sbt
    has "2 mine" "2 theirs"
    ;;
parts)
    "$tools/ts-record" -o all.sbt --no-merge "$program" plain own.sbt \
        >out 2>said || test $? = 3
    said "2 traces of 1 process in "
    "$tools/ts-merge" -o all.sbt all.sbt.*/*.sbt >merged
    has "2 mine" "2 theirs"
    ;;
stale) # of a ts-record that was killed, whose folder is gone
    mine=/dev/shm/tracesmith-record-$(id -u)
    mkdir -p -m 700 "$mine"
    (exit 0) &
    dead=$!
    wait
    ln -s "$PWD/gone" "$mine/$dead.1"
    ln -s "$PWD" "$mine/$dead.2"
    record 3 "$program" alone own.sbt
    test ! -L "$mine/$dead.1"
    test -L "$mine/$dead.2"
    rm "$mine/$dead.2"
    ;;
flight) # what is left of it is cut as the rest
    record 3 --flight-recorder=60s "$program" plain own.sbt
    has "2 mine" "2 theirs"
    test "$(zones own.sbt | wc -l)" = 2
    ;;
esac
trap - EXIT
