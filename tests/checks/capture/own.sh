#!/bin/sh
# Programs with a session of their own under ts-record: one trace contains what
# they recorded and what the injected library recorded; their own trace is
# unchanged.
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
    said "own.sbt, which the program recorded itself, is merged into it"
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
    said "2 events in .*, 1 process"
    # Where children go on only their traces are awaited.
    "$tools/ts-record" -o all.sbt sh -c 'sleep 1 &' >out 2>said
    said "child processes are still running"
    test -z "$(find "/dev/shm/tracesmith-record-$(id -u)" -name traces \
        -lname "$PWD/*" 2>&- || :)"
    rm -r all.sbt.*/
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
    said "1 trace that the program recorded itself is missing"
    ;;
moved)
    record 3 "$program" moved own.sbt elsewhere.sbt
    has "2 theirs"
    said "is missing: the program replaced, moved or removed it"
    rm all.sbt
    record 0 sh -c '"$0" alone own.sbt; rm own.sbt' "$program"
    test ! -e all.sbt
    said "itself is missing"
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
    said "wrote 2 traces of 1 process to "
    "$tools/ts-merge" -o all.sbt all.sbt.*/*.sbt >merged
    has "2 mine" "2 theirs"
    ;;
stale) # of a ts-record that was killed, whose folder is gone
    mine=/dev/shm/tracesmith-record-$(id -u)
    mkdir -p -m 700 "$mine"
    (exit 0) &
    dead=$!
    wait
    for at in 1 2; do
        mkdir "$mine/$dead.$at"
        ln -s "$PWD" "$mine/$dead.$at/own-1-2.sbt"
        ln -s "$PWD/$at" "$mine/$dead.$at/traces"
    done
    mkdir 2
    record 3 "$program" alone own.sbt
    test ! -e "$mine/$dead.1"
    test -d "$mine/$dead.2"
    rm -r "$mine/$dead.2"
    ;;
user) # a daemon of root's that gives that up
    other="setpriv --reuid=65534 --clear-groups"
    if ! $other test -x "$program"; then
        echo "cannot become another user, or that one cannot run the program"
        exit 77
    fi
    place=$(mktemp -d /var/tmp/ts-own-XXXXXX)
    chown 65534 "$place"
    record 3 $other "$program" plain "$place/own.sbt"
    has "2 mine" "2 theirs"
    said "$place/own.sbt, which .* itself as user 65534, is merged into"
    test "$(stat -c %u "$place/own.sbt" all.sbt | tr '\n' ' ')" = "65534 0 "
    record 137 $other "$program" kill "$place/own.sbt"
    has "2 mine" "2 theirs"
    "$tools/ts-record" -o all.sbt --no-merge $other "$program" alone \
        "$place/own.sbt" >out 2>said || test $? = 3
    "$tools/ts-info" all.sbt.*/own-*.sbt | grep -q '^Lost: nothing'
    rm -r all.sbt.*/
    # One that is written still is brought later.
    rm all.sbt
    "$tools/ts-record" -o all.sbt $other sh -c '
        "$0" await "$1/own.sbt" "$1/go" >"$1/said" &
        until test -s "$1/said"; do sleep 0.05; done' "$program" "$place" \
        >out 2>said
    said "child processes are still running"
    $other touch "$place/go"
    until "$tools/ts-info" "$place/own.sbt" | grep -q ", finished"; do
        sleep 0.05
    done
    "$tools/ts-record" --collect all.sbt.*/ >out 2>said
    has "2 mine" "2 theirs"
    test ! -e all.sbt.*/
    # What it names must be its own file, and a trace of that session.
    for target in "$PWD/all.sbt" "$place/pipe" "$place/link" "$place/own.sbt"
    do
        rm -f "$place/pipe" "$place/link"
        $other mkfifo "$place/pipe"
        $other ln -s "$PWD/all.sbt" "$place/link"
        record 0 $other sh -c 'began=$(cut -d " " -f 22 "/proc/$PPID/stat")
            ln -s "$0" \
                "/dev/shm/tracesmith-record-0/$PPID.$began/own-1-1.sbt"' \
            "$target"
        said "1 trace that the program recorded itself is missing"
    done
    rm -r "$place"
    ;;
mounts) # as in a container, whose own the folder of the traces is
    how="unshare -m"
    test "$(id -u)" = 0 || how="unshare -rm"
    place=$(mktemp -d /var/tmp/ts-own-XXXXXX)
    if ! $how mount -t tmpfs none "$place"; then
        rmdir "$place"
        echo "no namespaces of mounts"
        exit 77
    fi
    cp "$program" "$place/own"
    record 3 $how sh -c 'mount -t tmpfs none "$1" && exec "$0" plain "$2"' \
        "$place/own" "$PWD" "$place/own.sbt"
    has "2 mine" "2 theirs"
    record 3 $how sh -c 'mount -t tmpfs none "$1" && exec "$0" plain "$2"' \
        "$place/own" "$PWD" "$PWD/own.sbt"
    has "2 theirs"
    said "is missing: .* or wrote it to a file system that only it can see"
    rm -r "$place"
    ;;
flight) # what is left of it is cut as the rest
    record 3 --flight-recorder=60s "$program" plain own.sbt
    has "2 mine" "2 theirs"
    test "$(zones own.sbt | wc -l)" = 2
    ;;
esac
trap - EXIT
