# Captures programs and runs their operations again in another process, also in
# one without access to the program and to this file system.
. tests/lib.sh
area=execute
folder=build/execute
. tests/checks/execute/replays.sh
rm -rf $folder
mkdir -p $folder
LIMIT=600 check "execute: build" sh -c '
    set -e
    make --no-print-directory -s build/ts-replay build/ts-info build/ts-cut \
        build/ts-merge build/ts-view
    gcc -std=c11 -O2 -g -I. -Wall -Wextra -Werror $HERE/app.c \
        -o $0/app -pthread
    for what in pipeline wrong pointers sums spin leave killed hungry hidden \
        freed race far drift untold beside nothing count hostile; do
        $0/app $what $0/$what.sbt
    done
    $0/app pipeline $0/few.sbt "kernel:scale count:1"
    $0/app frames $0/frames.sbt frames:1
    $0/app pipeline $0/hashes.sbt hashes' $folder

replays "all of it" 0 'same: 8 operations' $folder/pipeline.sbt
replays "in a chain" 0 'same: 8 operations' $folder/pipeline.sbt --chain
replays "addresses as recorded" 0 '0 rewritten (S2), 1 not run (S3)' \
    $folder/pipeline.sbt --va strict
replays "one stream" 0 'same: 5 operations' $folder/pipeline.sbt --stream 2
replays "a range of operations" 0 'same: 3 operations' \
    $folder/pipeline.sbt --ops 4..8
replays "a zone" 0 'same: 2 operations' $folder/pipeline.sbt --zone step
replays "a zone and what it needs" 0 'same: 3 operations' \
    $folder/pipeline.sbt --zone step --deps closure
replays "a chain without the world" 0 'same: 2 operations' \
    $folder/pipeline.sbt --zone step --deps none --chain
replays "a zone whose inputs are as recorded" 0 'same: 2 operations' \
    $folder/pipeline.sbt --zone step --deps frozen --chain
replays "one device" 0 'same: 8 operations' $folder/pipeline.sbt --device 0
replays "another device" 2 'no device is' $folder/pipeline.sbt --device 1
# To the nanosecond: a time for people is rounded, to behind it as well.
seventh=$(build/ts-view --events --kinds kernel --json $folder/pipeline.sbt |
    sed -n 's/.*"start_ns": \([0-9]*\),.*"label": "bias".*/\1ns/p' | head -n 1)
replays "from a moment on" 0 'same: 5 operations' $folder/pipeline.sbt \
    --from "$seventh"
replays "up to a moment" 0 'same: 3 operations' $folder/pipeline.sbt \
    --to "$seventh"
replays "pointers in packed structs and in memory" 0 'same: 9 operations' \
    $folder/pointers.sbt
for how in "" --chain --overlap "--loops 3" --stop-at-first \
    "--chain --bisect -o $folder/none.sbt"; do
    counts_once $folder/count.sbt 6 5 $how
done
for how in --chain --overlap; do
    replays "that the host wrote between two operations, $how" 0 \
        'before operation 13, kernel count .*: 1 chunk, the first at 0x' \
        $folder/count.sbt $how
done
replays "the wrong kernel" 1 'operation 4, kernel scale_wrong' \
    $folder/wrong.sbt
replays "the wrong kernel's site" 1 "launched in step, $HERE/app.c:" \
    $folder/wrong.sbt
replays "which argument, and from which byte on" 1 \
    'byte 404: expected 0x453b800c (3000.00293 as a float), found 0x447a' \
    $folder/wrong.sbt
replays "which argument differs" 1 'of 1.144 MiB, argument 0$' \
    $folder/wrong.sbt
replays "the first that differs, no more" 1 'diverged: 1 of 3' \
    $folder/wrong.sbt --stop-at-first --chain
replays "a sum of floats in no order" 1 'kernel sum.* chunk 0, by' \
    $folder/sums.sbt --loops 9
replays "a kernel that hangs" 4 '1 TIMEOUT' $folder/spin.sbt --timeout 3
replays "what comes after a hang" 4 'same: 3 operations' $folder/spin.sbt \
    --timeout 3
replays "a kernel that ends the process" 1 '1 ESCAPE' $folder/leave.sbt
replays "what comes after it" 1 ' 3 executed, 0 substituted, 1 declined' \
    $folder/leave.sbt
replays "that something escaped" 1 '^escaped: 1 operations accessed' \
    $folder/leave.sbt
replays "that something escaped as JSON" 1 '"result": "escaped"' \
    $folder/leave.sbt --json
if grep -q '^oom_kill ' /proc/vmstat; then
    replays "a kernel whose process is killed" 0 \
        'kernel killed on .*: DEVICE_FAILED$' $folder/killed.sbt
    replays "that it was not for memory" 0 \
        'killed, not because memory ran out' $folder/killed.sbt
else
    replays "a kernel whose process is killed" 0 \
        'killed, possibly because memory ran out' $folder/killed.sbt
fi
replays "what comes after that" 0 'same: 3 operations' $folder/killed.sbt
check "execute: a kernel that takes more memory than there is" sh -c '
    group=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    test -d $group || group=/sys/fs/cgroup limit=memory.max
    group=$group/tracesmith-$$
    trap "rmdir $group 2>/dev/null" EXIT
    if ! mkdir $group || ! echo 200M >$group/$limit ||
        ! grep "^oom_kill " /proc/vmstat; then
        echo "no group of processes with a limit of memory here"
        exit 77
    fi
    # Without swap, where that is another limit.
    echo 200M >$group/memory.memsw.limit_in_bytes
    echo 0 >$group/memory.swap.max
    sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh \
        build/ts-replay --execute --trust --timeout 50 $0/hungry.sbt >$0/out
    status=$?
    cat $0/out
    test $status = 0 && grep "kernel eat on .*: NO_MEMORY$" $0/out &&
        grep "system killed its process because memory ran" $0/out &&
        grep "same: 3 operations" $0/out' $folder
check "execute: no process is left behind" sh -c '
    build/ts-replay --execute --trust --timeout 60 $0/spin.sbt >/dev/null &
    child=
    until test -n "$child"; do
        sleep 0.1
        child=$(cat /proc/$!/task/$!/children) || exit
    done
    kill $!
    wait $!
    while grep "^State:" /proc/${child% }/status 2>/dev/null | grep -v "Z ("; do
        sleep 0.1
    done' $folder
replays "memory that was not captured" 1 'ESCAPE at 0xfa0' $folder/hidden.sbt
replays "memory that was freed" 1 'ESCAPE' $folder/freed.sbt
replays "a race, as it was captured" 0 'same: 3 operations' $folder/race.sbt
replays "ten gigabytes apart" 0 'same: 3 operations' $folder/far.sbt
# Minutes, and ten gigabytes, where all of it is read and written.
check "execute: capture of ten gigabytes that nobody wrote" sh -c '
    $0/app vast $0/vast.sbt && exit
    status=$?
    rm -f $0/vast.sbt
    echo "nobody tells here which pages were written"
    exit $status' $folder
if test -e $folder/vast.sbt; then
    replays "ten gigabytes that nobody wrote" 0 'same: 3 operations' \
        $folder/vast.sbt
    replays "they in a chain" 0 'same: 3 operations' $folder/vast.sbt --chain
    replays "they beside each other" 0 'same: 1 regions' $folder/vast.sbt \
        --overlap
    check "execute: they as a program, of which zeros take no place" sh -c '
        set -e
        build/ts-replay --execute $0/vast.sbt --extract ends -o $0/ends
        test $(du -sk $0/ends | cut -f 1) -lt 16384
        cd $0/ends
        gcc -Wall -Wextra -Werror main.c -o main -ldl
        ./main | grep -qx same' $folder
fi
replays "one launch of one kernel" 0 'same: 1 operations' $folder/few.sbt
replays "what nobody captured has no rows" 0 \
    '^           not shown: 7 that were not captured; --json lists all' \
    $folder/few.sbt
replays "why nobody captured it" 0 \
    '7 NOT_CAPTURED: it was not selected by --capture' \
    $folder/few.sbt
replays "two frames on a trigger, from the middle" 0 'same: 4 operations' \
    $folder/frames.sbt
replays "they in a chain" 0 'same: 4 operations' $folder/frames.sbt --chain
replays "hashes alone" 3 'no operation was executed' $folder/hashes.sbt
replays "nothing that could be compared" 3 'no result could be compared' \
    $folder/nothing.sbt
# What a kernel of a stranger tries, in a folder where files would be its doing.
hostile() { # NAME WORD FILES OPTIONS...
    name=$1 word=$2 files=$3
    shift 3
    check "execute: a hostile kernel, $name" sh -c '
        trace=$0 word=$1 files=$2
        shift 2
        rm -rf $trace-folder && mkdir $trace-folder && cd $trace-folder || exit
        MILD=1 ../../ts-replay --execute --trust --timeout 50 "$@" \
            ../${trace##*/}.sbt >out 2>said
        status=$?
        rm -f /tmp/hostile.file
        cat out said
        test $status = 0 || exit
        for what in inet unix ring kill signal limit mode type program; do
            grep -qx "$word $what" said || exit
        done
        for what in file home; do
            grep -qx "$files $what" said || exit
        done' $folder/hostile "$word" "$files" "$@"
}
files=DID
build/ts-replay --execute --trust $folder/hostile.sbt 2>&1 |
    grep -q 'files by Landlock [1-9]' && files=denied
if build/ts-replay --execute --trust $folder/hostile.sbt 2>&1 |
    grep -q ' system calls filtered'; then
    hostile "may not do it" denied $files
    replays "that may not trace who started it" 0 '^denied trace' \
        $folder/hostile.sbt
    replays "that may not make a space of its own" 0 '^denied namespace' \
        $folder/hostile.sbt
    replays "restrictions in effect are reported" 0 \
        '^  confined      no new privileges, limits, system calls filtered' \
        $folder/hostile.sbt
    replays "restrictions in effect are reported, as JSON" 0 '"seccomp": true' \
        $folder/hostile.sbt --json
    hostile "that is not confined does it" DID DID --no-confine
else
    check "execute: a hostile kernel" sh -c \
        'echo "system calls cannot be filtered here"; exit 77'
fi
replays "streams beside each other" 0 'same: 2 regions' \
    $folder/beside.sbt --overlap
replays "what streams wait for" 0 '2 streams in 1 parts, 2 events' \
    $folder/beside.sbt --overlap
replays "how long it took in the record" 0 '"recorded_span_ns": [1-9]' \
    $folder/beside.sbt --overlap --json
replays "wrong beside each other" 1 'diverged: 3 of 8' \
    $folder/wrong.sbt --overlap
replays "a crash beside each other" 3 'kernel leave on .*: ESCAPE$' \
    $folder/leave.sbt --overlap
replays "who did not crash" 3 ' 3 DEVICE_FAILED: ' $folder/leave.sbt --overlap
replays "where a crash was" 3 ' 1 ESCAPE: ' $folder/hidden.sbt --overlap
replays "at what address" 3 'kernel hidden on .*: ESCAPE at 0xfa0' \
    $folder/hidden.sbt --overlap
replays "a hang beside each other" 4 'kernel spin on .*: TIMEOUT$' \
    $folder/spin.sbt --overlap --timeout 3
replays "a graph where there are none" 3 'vdev has no graphs' \
    $folder/beside.sbt --as-graph --loops 3
check "execute: Landlock is said where it held, and where it did not" sh -c '
    set -e
    run="build/ts-replay --execute --trust $0/pipeline.sbt"
    $run --json | grep -q "\"landlock\": true" &&
        wanted="^  confined .*filtered, files by Landlock [1-9]" ||
        wanted="^  confined .*filtered; .*Landlock"
    $run | grep "$wanted"
    $run --no-confine | grep "^  confined      no: --no-confine$"' $folder
replays "as JSON" 1 '"first_divergence": {' $folder/wrong.sbt --json
replays "the values as JSON" 1 '"expected_value": 3000.0029' \
    $folder/wrong.sbt --json
replays "where it was launched as JSON" 1 "\"file\": \"$HERE/app.c\"" \
    $folder/wrong.sbt --json
# What is said of each, word for word but for times, addresses and restrictions
# of this machine. UPDATE=1 rewrites the files execute/NAME.txt.
says() { # NAME OPTIONS...
    # shellcheck disable=SC2016 # for the inner shell
    check "execute: all that is said of $1" sh -c '
        got=$1/said.$2
        wanted=$HERE/$(echo "$2" | tr -d , | tr " " -).txt
        folder=$1
        shift 2
        build/ts-replay --execute --trust "$@" 2>&1 | sed -E \
            -e "s/[0-9][0-9.,]* (ns|us|ms|s)([ ,.;:]|\$)/TIME\2/g" \
            -e "s/0x[0-9a-f]+/ADDRESS/g; s/^(  confined +).*/\1.../" \
            -e "s/^(  backend +).*/\1.../" >"$got"
        test "${UPDATE:-}" != 1 || cp "$got" "$wanted"
        diff -u "$wanted" "$got"' sh "$folder" "$@"
}
says "a program" $folder/pipeline.sbt
says "a chain" $folder/pipeline.sbt --chain
says "strict addresses" $folder/pipeline.sbt --va strict
says "streams beside each other" $folder/pipeline.sbt --overlap
says "several runs" $folder/count.sbt --loops 3
says "what the host wrote" $folder/count.sbt --chain
says "a kernel that is wrong" $folder/wrong.sbt
says "a kernel that is wrong, in a chain" $folder/wrong.sbt --chain
says "a kernel that is wrong, beside others" $folder/wrong.sbt --overlap
says "a kernel that leaves" $folder/leave.sbt
says "memory that nobody captured" $folder/hidden.sbt
says "a kernel that takes no end" $folder/spin.sbt --timeout 3
says "hashes alone" $folder/hashes.sbt
says "what nobody captured" $folder/few.sbt
says "nothing that could be compared" $folder/untold.sbt
says "small errors" $folder/drift.sbt
says "small errors, narrowed down" $folder/drift.sbt --chain --bisect \
    -o $folder/said.sbt
says "errors that add up, narrowed down" $folder/drift.sbt --chain \
    --compare rtol=0.0045 --bisect -o $folder/said.sbt
says "one that diverges, narrowed down" $folder/wrong.sbt --bisect \
    -o $folder/said.sbt
says "none that diverges" $folder/pipeline.sbt --bisect -o $folder/said.sbt
says "a graph where there are none" $folder/pipeline.sbt --as-graph
says "a backend of others" $folder/pipeline.sbt --backend cuda
says "a kernel that nobody captured" $folder/pipeline.sbt --extract nosuch \
    -o $folder/said
says "a folder that has files" $folder/pipeline.sbt --extract scale -o $folder
says "a kernel as a program" $folder/pipeline.sbt --extract scale \
    -o $folder/said.scale
check "execute: the keys of JSON" sh -c '
    for what in wrong "pipeline --overlap" "hidden --overlap" untold; do
        set -- $what
        echo $1
        shift
        build/ts-replay --execute --trust --json $0/${what%% *}.sbt "$@" |
            node tests/cli/json-keys.mjs
    done | diff -u $HERE/json-keys.txt -' $folder

replays "a small error alone" 0 'same: 9 operations' $folder/drift.sbt \
    --compare rtol=0.0045
replays "an absolute error" 0 'same: 9 operations' $folder/drift.sbt \
    --compare atol=30
replays "less than the error" 1 'diverged: ' $folder/drift.sbt \
    --compare atol=0.001
replays "both" 0 'same: 9 operations' $folder/drift.sbt \
    --compare rtol=0.004,atol=30
replays "of another type" 1 'expected 1161527308, found 1148846096$' \
    $folder/wrong.sbt --compare atol=5:i32
replays "of a type of one byte as JSON" 1 '"expected_value": 12,' \
    $folder/wrong.sbt --compare atol=3:u8 --json
for how in atol rtol=1,ulp=1 rtol=1:f33 ulp=-1 rtol=nan atol=1,atol=1 \
    atol=1, rtol=1:; do
    replays "a comparison that is none, $how" 2 \
        'compare .*: must be exact, ulp=N' \
        $folder/wrong.sbt --compare $how
done
replays "small errors add up" 1 'diverged: 4 of 9' $folder/drift.sbt \
    --compare rtol=0.0045 --chain
replays "a chain narrowed down" 1 'needs 5 operations, from 2 to 6' \
    $folder/drift.sbt --compare rtol=0.0045 --chain --bisect \
    -o $folder/steps.sbt
replays "what it was narrowed down to" 1 'diverged: 1 of 5' \
    $folder/steps.sbt --compare rtol=0.0045 --chain
replays "an operation narrowed down" 1 'found: operation 4' \
    $folder/wrong.sbt --chain --bisect -o $folder/small.sbt
replays "the operation alone" 1 'diverged: 1 of 1' $folder/small.sbt
check "execute: what was narrowed down verifies" \
    build/ts-info --verify $folder/small.sbt
replays "nothing to narrow down" 0 'no operation diverges' \
    $folder/pipeline.sbt \
    --bisect -o $folder/nothing.sbt
for kernel in scale bias; do
    check "execute: $kernel as a program" sh -c '
        set -e
        umask 022
        build/ts-replay --execute $0/pipeline.sbt --extract $1 -o $0/$1
        cd $0/$1
        test "$(stat -c %a .)" = 755
        gcc -Wall -Wextra -Werror main.c -o main -ldl
        ./main | grep -qx same' $folder $kernel
done
for how in --bisect --chain --overlap --as-graph "--compare exact" --json \
    "--va auto" "--timeout 9" "--loops 2" --stop-at-first; do
    check "execute: a kernel as a program, and $how" sh -c '
        build/ts-replay --execute $0/pipeline.sbt --extract scale \
            -o $0/neither "$@" 2>$0/neither.err
        test $? = 2 && grep "^ts-replay: --extract does not run" \
            $0/neither.err' $folder $how
done
check "execute: the wrong kernel as a program" sh -c '
    set -e
    build/ts-replay --execute $0/wrong.sbt --extract "scale_*" -o $0/odd
    cd $0/odd
    gcc main.c -o main -ldl
    ./main | grep -q "byte 404: expected"' $folder
check "execute: the same digest every time" sh -c '
    for i in 1 2 3; do
        build/ts-replay --execute --trust --json $0/pipeline.sbt |
            grep \"digest\"
    done | sort -u | wc -l | grep -qx 1' $folder
check "execute: merged, and cut out again, the same digest" sh -c '
    set -e
    digest() {
        build/ts-replay --execute --trust --timeout 60 --json "$1" |
            grep "\"digest\""
    }
    build/ts-merge -o $0/merged.sbt $0/wrong.sbt $0/pointers.sbt \
        $0/pipeline.sbt >$0/merged.out
    build/ts-replay --execute --trust $0/merged.sbt >$0/merged.out ||
        test $? = 1
    grep -q "25 as recorded (S1), 0 rewritten" $0/merged.out
    process=$(build/ts-info --json $0/pipeline.sbt |
        sed -n "s/.*\"process\": \([0-9]*\).*/\1/p" | head -n 1)
    build/ts-cut -o $0/cut.sbt --process $process $0/merged.sbt
    test "$(digest $0/cut.sbt)" = "$(digest $0/pipeline.sbt)"
    build/ts-cut -o $0/short.sbt --name "^scale\$" $0/pipeline.sbt
    build/ts-replay --execute --trust $0/short.sbt | grep "same: 2 operations"
    test $(stat -c %s $0/short.sbt) -lt $(stat -c %s $0/pipeline.sbt)' $folder
check "execute: a trace without names has no captures" sh -c '
    build/ts-cut --anonymise -o $0/nameless.sbt $0/pipeline.sbt 2>$0/said
    cat $0/said
    why="captures are removed because they contain code and memory"
    grep -qF "$why" $0/said && ! build/ts-replay --execute --trust \
        $0/nameless.sbt' $folder
check "execute: a trace that nobody listed is not trusted" sh -c '
    ! build/ts-replay --execute $0/pipeline.sbt >$0/out 2>$0/err &&
        test ! -s $0/out && grep -q "app, build-id" $0/err &&
        grep -q "Use --trust" $0/err' $folder
check "execute: on a file system without the program" sh -c '
    root=$0/root
    mkdir -p $root/tmp
    for file in $(ldd build/ts-replay | grep -o "/[^ ]*"); do
        install -D "$file" "$root$file"
    done
    cp build/ts-replay $root/ts-replay
    cp $0/pipeline.sbt $root/trace.sbt
    become=
    test "$(id -u)" = 0 || become="unshare -r"
    $become chroot $root /ts-replay --version >/dev/null 2>&1 || {
        echo "no chroot here"
        exit 77
    }
    $become chroot $root /ts-replay --execute --trust --json trace.sbt \
        >$0/there.json
    build/ts-replay --execute --trust --json $0/pipeline.sbt >$0/here.json
    grep -q "\"executed\": 8" $0/there.json && cmp $0/there.json $0/here.json
    ' $folder
