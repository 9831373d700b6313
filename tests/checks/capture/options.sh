#!/bin/sh
# ts-record obeys its options, tested with tests/checks/capture/client.c.
#   tests/checks/capture/options.sh FOLDER WHICH
set -eu
folder=$1
trace=$folder/$2.sbt
client=$folder/client
said=$folder/$2.err

record() { # OPTION... CLIENT'S ARGUMENTS after --
    build/ts-record -o "$trace" "$@" >"$folder/$name.out" 2>"$said"
}
zones() { # of a trace, in order
    build/ts-view --events --kinds "${2:-zone}" --limit 0 --json "$1" \
        2>/dev/null | sed -n 's/.*"label": "\([^"]*\)".*/\1/p'
}
has() { # a line
    zones "$trace" >"$folder/$name.zones"
    grep -qx "$1" "$folder/$name.zones"
}
hasnt() {
    if has "$1"; then
        echo "$1 is there"
        cat "$said"
        exit 1
    fi
}
said() {
    grep -q "$1" "$said" || {
        cat "$said"
        exit 1
    }
}
unsaid() {
    if grep -q "$1" "$said"; then
        cat "$said"
        exit 1
    fi
}

name=$2
case $name in
ranks) # a ts-record for each, with the same words: none replaces another's
    unset TRACESMITH_RANK RANK WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_RANK \
        MV2_COMM_WORLD_RANK PMIX_RANK SLURM_PROCID LOCAL_RANK
    one=${trace%.sbt}
    rm -f "$one"*
    for rank in 0 1 2; do
        RANK=$rank WORLD_SIZE=3 build/ts-record -q -o "$trace" "$client" \
            >"$folder/launched.$rank" &
    done
    wait
    test "$(ls "$one"*.sbt | tr '\n' ' ')" = \
        "$one.rank0.sbt $one.rank1.sbt $one.rank2.sbt "
    build/ts-info "$one.rank2.sbt" | grep -q "rank *2\$"
    for of in OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID LOCAL_RANK; do
        rm -f "$one"*
        env $of=7 build/ts-record -q -o "$trace" "$client" \
            >"$folder/launched.out"
        test "$(ls "$one"*.sbt)" = "$one.rank7.sbt"
    done
    # A job of one is none, and who names things himself is obeyed.
    rm -f "$one"*
    SLURM_PROCID=0 SLURM_NTASKS=1 record "$client"
    test "$(ls "$one"*.sbt)" = "$trace"
    RANK=5 WORLD_SIZE=8 record -o "$one-%r-%h-100%%-%d.sbt" "$client"
    test -e "$one-5-$(uname -n)-100%-%d.sbt"
    RANK=5 WORLD_SIZE=8 record -o "$one-%p.sbt" "$client"
    ls "$one-"[1-9]*[0-9].sbt >"$folder/launched.ls"
    # A % in a folder is its own, also for the recorder.
    mkdir -p "$folder/%p%r"
    record -o "$folder/%%p%%r/%%p.sbt" "$client" fork
    test "$(ls "$folder/%p%r")" = %p.sbt
    zones "$folder/%p%r/%p.sbt" | grep -qx child
    ;;
image) # what a process recorded before it called exec stays
    rm -f "$folder/image"*
    inject=$PWD/build/libtracesmith-inject.so
    for pattern in image.%r.sbt image.%r.%p.sbt image.%%p.sbt; do
        TRACESMITH_OUT=$folder/$pattern RANK=4 NVTX_INJECTION64_PATH=$inject \
            "$client" exec >"$folder/image.out"
    done
    for first in image.4 image.4.[1-9]*[0-9] image.%p; do
        for of in "$folder"/$first-1.sbt; do
            test -e "${of%-1.sbt}.sbt"
            test -n "$(zones "$of")"
            test -n "$(zones "${of%-1.sbt}.sbt")"
        done
    done
    test "$(ls "$folder"/image*.sbt | wc -l)" = 6
    # That of an earlier run is replaced.
    TRACESMITH_OUT=$folder/image.%r.sbt RANK=4 NVTX_INJECTION64_PATH=$inject \
        "$client" >"$folder/image.out"
    test "$(ls "$folder"/image*.sbt | wc -l)" = 6
    ;;
log) # the user's own file gets the lines, and ts-record reads them too
    rm -f "$folder/log.lines"
    TRACESMITH_LOG=$folder/log.lines record "$client"
    grep -q "^recorded [0-9]*: " "$folder/log.lines"
    status=0
    (
        ulimit -f 1
        TRACESMITH_LOG=$folder/log.lines record "$client"
    ) || status=$?
    test $status = 125
    said "not recorded: process [0-9]*: no space"
    grep -q "^not recorded [0-9]*: " "$folder/log.lines"
    ;;
delay) # and a duration, from the start of ts-record
    record --delay 2s --duration 500ms -- "$client" steps 350
    hasnt "begin"
    hasnt "step 0"
    hasnt "step 349"
    hasnt "end"
    has "step [0-9]*"
    said "stopped after 500.0 ms (--duration)"
    build/ts-info "$trace" | grep -q "capture.delay_ms"
    # A program that is over before, or begins after it.
    record --delay 1h "$client"
    said "no events in 1 process"
    said "ended after .*, before recording started (--delay 3600.0 s)"
    rm "$trace"
    record --duration 1ms sh -c 'sleep 0.1; exec "$0"' "$client"
    said "nothing was recorded: .* before recording stopped (--duration)"
    test ! -e "$trace"
    ;;
kinds)
    record --kinds mark,span "$client"
    test -z "$(zones "$trace")"
    said "ts-record: other events were excluded by --kinds"
    record --kinds -mark "$client"
    has begin
    ;;
filter)
    record --filter 'step 1?,end,-step 15' "$client" steps 30
    test "$(zones "$trace" | wc -l)" = 10
    said "ts-record: other events were excluded by --filter"
    hasnt "step 15"
    hasnt "begin"
    has "step 19"
    has "end"
    ;;
size)
    record --size-limit 400kB "$client" many 3000000
    said "(--size-limit)"
    has many
    hasnt end
    size=$(wc -c <"$trace")
    test "$size" -ge 300000
    test "$size" -lt 30000000
    ;;
wrong)
    for option in --kinds=kernels --filter= --stacks=none --stacks=300 \
        --delay=3 --duration=10us --size-limit=big --flight-memory=0 \
        --capture= --capture=kernels:x --capture=budget:2X \
        --capture-on=SIGTERM --frames=0 --frames=x --budget=2X --yield= \
        --duration=0 --flight-recorder=0s --flight-memory=1M --stacks=-1 \
        '--stacks= 5' --flight-recorder=-1s; do
        status=0
        record "$option" "$client" || status=$?
        test $status = 2
        test ! -e "$trace"
        test -s "$said"
    done
    status=0
    record --flight-recorder 1s --flight-memory 65MiB "$client" || status=$?
    test $status = 2
    said "at most 64MiB"
    ;;
operations) # what is to be run again: the program gets it, in one text
    record --capture 'kernel:a* budget:2G' --capture frames:3 \
        sh -c 'echo "$TRACESMITH_CAPTURE" >&2'
    said '^kernel:a\* budget:2G frames:3$'
    record --capture 'kernel:a*' --budget 2G --frames 3 \
        sh -c 'echo "$TRACESMITH_CAPTURE" >&2'
    said '^kernel:a\* frames:3 budget:2147483648$'
    record --frames 3 sh -c 'echo "$TRACESMITH_CAPTURE" >&2'
    said '^frames:3$'
    # Nothing of NVTX can be run again, and that is said.
    record --capture all "$client" fork
    said "no operation was captured: the program ran no"
    build/ts-info "$trace" | grep -q "capture.operations all"
    # A child that comes after a delay goes on.
    record --delay 200ms --capture all \
        timeout --foreground 60 "$client" fork 60
    has child
    ;;
trigger) # a signal begins to keep operations; the program does not get it
    for _ in 1 2 3; do # should the machine have no time for it meanwhile
        build/ts-record -o "$trace" --capture 'frames:2 frame:step*' \
            --capture-on SIGUSR1 "$client" steps 100 >"$folder/trigger.out" \
            2>"$said" &
        recorder=$!
        until ls "$trace".*/*.sbt >"$folder/trigger.ls" 2>&1; do
            kill -0 $recorder
            sleep 0.05
        done
        kill -USR1 $recorder
        wait $recorder
        has "step 99"
        has end
        if build/ts-info "$trace" | grep -q "capture.captures 1"; then exit; fi
    done
    exit 1
    ;;
untriggered)
    record --capture-on SIGUSR2 "$client"
    said "no operation was captured: the trigger SIGUSR2 did not"
    ;;
key) # begins it, and again ends it; a terminal is what script has
    for _ in 1 2 3; do
        { sleep 2; printf xc; sleep 1; printf c; sleep 0.1; } |
            TERM=xterm script -qec "stty cols 70; build/ts-record \
                --capture-on key -o $trace sh -c 'cat; exec $client steps 450'
                stty" /dev/null >"$folder/key.screen"
        tr '\033\r' '^\n' <"$folder/key.screen" >"$said"
        said ' c starts capturing, 0 captured | recording after '\
'[0-9]\.[0-9] s $'
        test "$(awk '/c starts/ && length > 73' "$said" | wc -l)" = 0
        said 'sbt: .* events' # the program did not wait for the terminal
        test "$(grep -c -e '-icanon' -e '-echo$' "$said")" = 0
        if build/ts-info "$trace" | grep -q "capture.captures 1"; then exit; fi
    done
    exit 1
    ;;
raw) # a terminal that was raw before: no read waits for a key
    rm -f "$folder/nothing"
    mkfifo "$folder/nothing"
    timeout 60 script -qec "stty -icanon -echo; build/ts-record \
        --capture-on key -o $trace sh -c 'sleep 0.5; echo went on'" /dev/null \
        <>"$folder/nothing" >"$said"
    said "went on"
    said "nothing was recorded"
    ;;
stacks) # the program gets them; "--stacks" takes no word of the command
    for option in --stacks --stacks=7; do
        record $option sh -c 'echo "$TRACESMITH_STACKS" >&2'
        tail -n 2 "$said" | grep -qx "${option#--stack}" ||
            grep -qxE '32|7' "$said"
    done
    ;;
flight)
    record --flight-recorder 1s "$client" steps 150
    hasnt begin
    hasnt "step 20"
    has "step 149"
    has end
    said "the last"
    test "$(ls -d "$trace"*)" = "$trace"
    # What a crash leaves of it.
    record --flight-recorder 10s "$client" crash || status=$?
    test $status = 134
    has begin
    has end
    # Where it cannot be cut, what the process left stays.
    rm -rf "$trace"
    for last in 300ms 60s; do
        status=0
        record --flight-recorder $last \
            sh -c '"$0" steps 50 && mkdir "$1"' "$client" "$trace" || status=$?
        test $status = 125
        said "ts-record: $trace: "
        rmdir "$trace"
        zones "$(ls "$trace".*/[0-9]*.sbt)" | grep -qx "step 49"
        rm -r "$trace".*/
    done
    # Rings that are too small for it say so.
    record --flight-recorder 10s --flight-memory 64KiB "$client" many 100000
    has many
    hasnt begin
    said "instead of the requested 10.00 s"
    said "; --flight-memory 64MiB would keep more"
    # Traces that are left as they are have no more of it than one of them all.
    record --flight-recorder 300ms --no-merge "$client" fork 150
    first=$(sed -n 's/^ts-record: \(.*\): .* events in .*/\1/p' "$said" |
        head -n 1)
    zones "$first" >"$folder/flight.zones"
    grep -qx "step 149" "$folder/flight.zones"
    test "$(grep -c -x -e begin -e "step [0-9]" "$folder/flight.zones")" = 0
    rm -r "$trace".*/
    ;;
snapshot) # on a signal, while the program runs
    build/ts-record -o "$trace" --flight-recorder 10s "$client" steps 600 \
        >"$said" 2>&1 &
    recorder=$!
    first=${trace%.sbt}.1.sbt
    rm -f "$first"
    until ls "$trace".*/*.sbt >/dev/null 2>&1; do sleep 0.05; done
    sleep 2 # until it has begun; it takes six seconds
    kill -USR2 $recorder
    wait $recorder
    zones "$first" | grep -qx begin
    test -z "$(zones "$first" | grep -x end)"
    has end
    test -z "$(ls -d "$trace".* 2>/dev/null)"
    ;;
live)
    TERM=xterm script -qec "build/ts-record --live -o $trace $client steps 60" \
        /dev/null </dev/null >"$folder/live.screen"
    tr '\033\r' '^\n' <"$folder/live.screen" >"$said"
    said 'recording after [0-9]*\.[0-9] s: 1 process,'
    said 'K*ts-record: .*sbt: '
    # In the background the terminal is somebody else's.
    cat >"$folder/live.sh" <<'END'
set -m
build/ts-record --live -o "$0.sbt" "$1" steps 60 &
wait $!
END
    TERM=xterm timeout 60 script -qec "bash $folder/live.sh $client" \
        /dev/null </dev/null >"$said"
    said "ts-record: .* events"
    unsaid "recording after"
    # Not a byte more where there is no terminal.
    build/ts-record --live -q -o "$trace" "$client" steps 30 >"$said" 2>&1
    test "$(cat "$said")" = steps
    ;;
children) # a delay holds for those that come later, too
    record --delay 3s sh -c "$client; $client steps 400 & $client fork
        wait"
    hasnt child
    hasnt parent
    has end
    said ", 1 process,"
    ;;
killed) # ts-record as well: the traces are beside, and whole
    rm -rf "$trace" "$trace".*/ "$folder/killed.pid"
    build/ts-record -o "$trace" sh -c '"$0" fork; echo $$ >"$1"
        exec "$0" steps 6000' "$client" "$folder/killed.pid" \
        >"$folder/killed.out" 2>&1 &
    recorder=$!
    until test -s "$folder/killed.pid"; do sleep 0.05; done
    pid=$(cat "$folder/killed.pid")
    until build/ts-view --events "$trace".*/"$pid"*.sbt 2>&1 |
        grep -q "step 5$"; do sleep 0.05; done
    kill -9 $recorder "$pid"
    status=0
    wait $recorder || status=$?
    test $status = 137
    while grep -q "^State:.[^ZX]" "/proc/$pid/status" 2>/dev/null; do
        sleep 0.05
    done
    build/ts-merge -o "$trace" "$trace".*/*.sbt >"$folder/killed.out" 2>&1
    has child
    has parent
    has "step 5"
    rm -r "$trace".*/
    ;;
user) # a daemon that gives root up: with a fork, by a crash, into a folder
    other="setpriv --reuid=65534 --clear-groups"
    if ! $other true; then echo "cannot become another user"; exit 77; fi
    if ! $other test -r "$PWD/build/libtracesmith-inject.so" -a -x "$client"
    then
        record $other true
        said "cannot read libtracesmith-inject.so: install it"
        exit 0
    fi
    record $other true
    said "its own session in a container .* keeps its own trace file"
    record $other "$PWD/$client" fork
    said "2 processes, .*nothing lost"
    test "$(stat -c %u "$trace")" = 0
    has child
    status=0
    record -- $other "$PWD/$client" crash || status=$?
    test $status = 134
    has end
    # What else is in its folder is not ours: nothing is followed, or read.
    record -q $other sh -c 'mkdir -m 700 "$TRACESMITH_SPOOL-65534" &&
        ln -s "$1" "$TRACESMITH_SPOOL-65534/1.sbt" &&
        mkfifo "$TRACESMITH_SPOOL-65534/2.sbt" "$TRACESMITH_SPOOL-65534/log" &&
        echo "$TRACESMITH_SPOOL-65534" && "$0" plain' "$PWD/$client" \
        "$PWD/$trace"
    zones "$trace" >"$folder/$name.zones"
    test "$(wc -l <"$folder/$name.zones")" = 2
    rm -r "$(head -n 1 "$folder/$name.out")"
    test -z "$(ls -d "$trace".* 2>"$folder/$name.ls")"
    # Nor is a file that the folder's owner may not have written.
    record -q sh -c 'mkdir -m 700 "$TRACESMITH_SPOOL-65534" &&
        echo "recorded 7: by root" >"$TRACESMITH_SPOOL-65534/log" &&
        chown 65534 "$TRACESMITH_SPOOL-65534" &&
        echo "$TRACESMITH_SPOOL-65534" && "$0" plain' "$client"
    said "is left there: it is not a regular file"
    rm -r "$(head -n 1 "$folder/$name.out")"
    # Somebody else took the name by which own sessions are found.
    place=$(mktemp -d /var/tmp/ts-other-XXXXXX)
    chown 65534 "$place"
    mkdir /dev/shm/tracesmith-record-65534
    $other build/ts-record -o "$place/all.sbt" "$client" plain 2>"$said"
    rmdir /dev/shm/tracesmith-record-65534
    rm -r "$place"
    said "tracesmith-record-65534 belongs to another user"
    # Whoever it is chose what is captured: it does not run as root unasked.
    export XDG_STATE_HOME="$PWD/$folder/state"
    rm -rf "$XDG_STATE_HOME"
    mkdir -m 700 "$XDG_STATE_HOME"
    record --capture all $other "$PWD/$client" plain
    test -z "$(find "$XDG_STATE_HOME" -type f)"
    record --capture all "$client" plain
    test "$(find "$XDG_STATE_HOME" -type f | wc -l)" = 1
    ;;
mounts) # as in a container: where traces go is not to be seen
    how="unshare -m"
    test "$(id -u)" = 0 || how="unshare -rm"
    if ! $how mount -t tmpfs none "$folder"; then
        echo "no namespaces of mounts"
        exit 77
    fi
    program=$(mktemp /var/tmp/ts-client-XXXXXX)
    cp "$client" "$program" && chmod +x "$program"
    record $how sh -c 'mount -t tmpfs none "$1" && exec "$0" fork' "$program" \
        "$folder"
    rm "$program"
    has child
    said "2 processes, .*nothing lost"
    test -z "$(ls -d "$trace".* 2>"$folder/$name.ls")"
    ;;
daemon) # outlives ts-record: what stays is said, and can be collected
    rm -rf "$folder/daemon.go" "$trace" "$trace".*/
    wait_for='until test -e "$1"; do sleep 0.05; done; exec "$0"'
    for quiet in -q ""; do
        record $quiet sh -c "(sh -c '$wait_for' \"\$0\" \"\$1\") &" "$client" \
            "$folder/daemon.go"
        said "child processes are still running"
        into=$(sed -n 's/.* --collect \([^ ]*\) to merge .*/\1/p' "$said")
        # Before it is over nothing is taken away.
        build/ts-record -q --collect "$into" 2>"$said"
        said "child processes are still running"
        test -d "$into"
        touch "$folder/daemon.go"
        while test -d "$into"; do
            build/ts-record $quiet --collect "$into/" 2>"$said"
        done
        has begin
        rm "$folder/daemon.go" "$trace"
    done
    # Of one that records nothing an empty folder stays: it goes.
    record -q sh -c "sleep 3 & exit 0"
    into=$(sed -n 's/.* --collect \([^ ]*\) to merge .*/\1/p' "$said")
    while test -d "$into"; do
        build/ts-record --collect "$into" 2>"$said"
    done
    said "it contains no recorded events"
    test ! -e "$trace"
    for wrong in "$folder" /tmp "$into" ""; do
        status=0
        build/ts-record --collect "$wrong" 2>"$said" || status=$?
        test $status = 125
        said "is not a folder that ts-record left"
    done
    ;;
later) # children that use a library when the program is over
    rm -rf "$folder/later.go" "$trace".*/
    wait_for='until test -e "$1"; do sleep 0.05; done; exec "$0"'
    record --live sh -c "(sh -c '$wait_for' \"\$0\" \"\$1\") &" "$client" \
        "$folder/later.go"
    into=$(sed -n 's/.* still running; their traces will be in //p' "$said")
    test -d "$into"
    test ! -e "$trace"
    touch "$folder/later.go"
    until ls "$into"/*.sbt >"$folder/later.ls" 2>&1; do sleep 0.05; done
    # Those that end in the moment that they are given are in the trace.
    for of in 1 2 3 4 5 6 7 8; do
        record sh -c 'sh -c "sleep 0.0$1; exec \"\$0\"" "$0" & exit 0' \
            "$client" $of
        grep -q "child processes are still running" "$said" || has end
        unsaid "nothing was recorded"
    done
    rm -rf "$trace" "$trace".*/
    # One that is being written, and nothing else.
    status=0
    record sh -c '"$0" steps 100 & sleep 0.5; exit 0' "$client" || status=$?
    test $status = 0
    test ! -e "$trace"
    said "a child process is still running; its trace is "
    ;;
group) # a signal to the group arrives once, one to ts-record is passed on
    rm -f "$folder/group.pid" "$folder/group.pid.done" "$folder/group.of"
    setsid sh -c 'echo $$ >"$0.of"; exec build/ts-record -q -o "$0.sbt" \
        python3 -c "$1" "$0.pid"' "$folder/group" '
import os, signal, sys, time
count = 0
def hear(number, frame):
    global count
    count += 1
signal.signal(signal.SIGUSR1, hear)
open(sys.argv[1], "w").write("x")
end = time.time() + 60
while time.time() < end and not os.path.exists(sys.argv[1] + ".done"):
    time.sleep(0.05)
    print(count, flush=True)' >"$folder/group.out" &
    while ! test -s "$folder/group.pid"; do sleep 0.05; done
    for count in 1 2; do
        group=-$(cat "$folder/group.of")
        test $count = 1 || group=${group#-}
        kill -s USR1 -- "$group"
        until tail -n 1 "$folder/group.out" | grep -qx $count; do
            sleep 0.1
        done
        sleep 0.3 # it would come again
    done
    touch "$folder/group.pid.done"
    wait
    test "$(tail -n 1 "$folder/group.out")" = 2
    ;;
stop) # a stopped program of a terminal gives it back; others wait
    cat >"$folder/stop.sh" <<'END'
set -m
build/ts-record -q -o "$0.sbt" sh -c 'kill -STOP $$; echo went on'
echo back
fg >/dev/null
END
    timeout 60 script -qec "bash $folder/stop.sh" /dev/null </dev/null |
        tr -d '\r' >"$said"
    test "$(tr '\n' ' ' <"$said")" = "back went on "
    # One that takes keys goes on in the background.
    cat >"$folder/stop.sh" <<'END'
set -m
build/ts-record --capture-on key -q -o "$0.sbt" sh -c \
    'kill -TSTP 0; sleep 0.5; echo went on'
bg >/dev/null
wait -f %1
echo over
END
    timeout 60 script -qec "bash $folder/stop.sh" /dev/null </dev/null |
        tr -d '\r' >"$said"
    said "went on"
    said "over"
    # And hears them when it is in front again: for that a shell that takes the
    # terminal back.
    cat >"$folder/stop.sh" <<'END'
exec build/ts-record --capture-on key -q -o "$0.sbt" sh -c \
    'kill -TSTP 0; sleep 1; exec "$0" steps 200' "$1"
END
    for _ in 1 2 3; do # should the machine have no time for it meanwhile
        rm -f "$folder/stop.sh.sbt"
        {
            sleep 0.5
            echo "sh $folder/stop.sh $client"
            sleep 1
            echo bg
            sleep 0.5
            echo fg
            for _ in 1 2 3 4 5; do
                sleep 0.5
                printf c
            done
            sleep 1
            printf '\nexit\n'
        } | timeout 60 script -qec "bash --norc --noprofile -i" /dev/null \
            >"$said"
        if build/ts-info "$folder/stop.sh.sbt" |
            grep -q "capture.captures [1-9]"; then
            heard=yes
            break
        fi
    done
    test "${heard:-}" = yes
    rm -f "$folder/stop.pid"
    (
        while ! test -s "$folder/stop.pid"; do sleep 0.05; done
        pid=$(cat "$folder/stop.pid")
        until grep -q "^State:.T" "/proc/$pid/status"; do
            kill -0 "$pid" && sleep 0.05 || exit
        done
        sleep 0.2
        kill -CONT "$pid"
    ) &
    record sh -c 'echo $$ >"$0"; kill -STOP $$; echo went on' \
        "$folder/stop.pid"
    test "$(cat "$folder/stop.out")" = "went on"
    ;;
esac
