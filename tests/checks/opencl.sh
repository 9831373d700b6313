# Records OpenCL on PoCL: unmodified programs, and one that records itself.
. tests/lib.sh
folder=build/opencl
rm -rf $folder
mkdir -p $folder
check_build "opencl: build" all
inject=$PWD/build/libtracesmith-inject.so
export POCL_CACHE_DIR=$PWD/build/pocl # kernels are compiled once
export TS_INJECT="$inject"

if ! echo '#include <CL/cl_layer.h>' | gcc -E -xc - >/dev/null 2>&1 ||
    ! gcc -shared -o $folder/link.so -xc /dev/null -lOpenCL 2>/dev/null ||
    ! ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; then
    check "opencl: programs" sh -c \
        'echo "no PoCL, or no headers of OpenCL"; exit 77'
    exit 0
fi
check "opencl: the interface is laid out as the backend says" gcc -std=c11 \
    -I. -fsyntax-only $HERE/abi.c
program=$folder/program
check "opencl: a program is built" gcc -std=gnu11 -O2 -Wall -Wextra -Werror \
    $HERE/program.c -o $program -lOpenCL -pthread
check "opencl: ts-record, counts, output and order of a program" \
    $HERE/counts.sh $folder/plain $program
check "opencl: without TRACESMITH_OUT nothing is recorded" sh -c '
    mkdir $0 && OPENCL_LAYERS=$TS_INJECT $1 >$0/out; test $? = 4 &&
        cmp $0/out $2/alone.out && test "$(ls $0)" = out' \
    $folder/nothing $program $folder/plain
check "opencl: ts-replay --races, none and one" sh -c '
    build/ts-replay --races $0/plain/trace.sbt >$0/races || exit 1
    grep -q "^no race" $0/races
    build/ts-record -q --stacks -o $0/racy.sbt $1 racy >$0/racy.out
    test $? = 4 || exit 1
    # By the places of its launches it is two.
    build/ts-replay --races --json $0/racy.sbt | grep -q "\"module\": \"/" ||
        exit 1
    build/ts-record -q -o $0/racy.sbt $1 racy >$0/racy.out
    test $? = 4 || exit 1
    build/ts-replay --races $0/racy.sbt >$0/racy
    test $? = 1 && grep -q "^1 race" $0/racy &&
        grep -q "B   add on 0:4 (queue 4)" $0/racy' $folder $program

end=$folder/end
check "opencl: a program that ends is built" gcc -std=gnu11 -O2 -Wall -Wextra \
    -Werror $HERE/end.c -o $end -lOpenCL
export POCL_DEVICES="basic pthread"
ends() { # how, operations that must be there
    check "opencl: ts-record, two devices, a program that does $1" sh -c '
        tests/checks/capture/record.sh $0-$1 "" $0 $1 &&
            build/ts-info $0-$1/trace.sbt >$0-$1/info &&
            test "$(grep -c "^ *device " $0-$1/info)" = 2 &&
            awk -v want=$2 "\$1 == \"memset\" { found = \$2 }
                END { exit found != want }" $0-$1/info' $end $1 $2
}
ends return 100
ends finish 100
ends _exit 100
ends fork 100
ends release 100
ends atexit 100
unset POCL_DEVICES
check "opencl: captures on a signal, replayed alone" sh -c '
    gcc -std=gnu11 -O2 -Wall -Wextra -Werror $HERE/loop.c \
        -o $0/loop -lOpenCL || exit 1
    build/ts-record -o $0/loop.sbt --capture operations:3 \
        --capture-on SIGUSR1 $0/loop $0/loop.stop >$0/loop.out 2>$0/loop.err &
    until ls $0/loop.sbt.*/*.sbt >$0/loop.ls 2>&1; do
        kill -0 $! && sleep 0.05 || exit 1
    done
    for _ in 1 2 3; do # each begins one, or ends one that takes long
        sleep 0.3
        kill -USR1 $!
    done
    sleep 0.3
    touch $0/loop.stop
    wait $! && grep -qx right $0/loop.out &&
        grep "operations* can be run again" $0/loop.err &&
        build/ts-replay --execute --trust $0/loop.sbt >$0/loop.same &&
        grep "^same: [1-9]" $0/loop.same' $folder
check "opencl: captures on a key while one looks on, replayed alone" sh -c '
    command -v script || exit 77
    kept() {
        tr "\r" "\n" <$0/key.screen | grep ", [1-9][0-9]* captured | recording"
    }
    run="build/ts-record --live --capture operations:3 --capture-on key"
    {
        until ls $0/key.sbt.*/*.sbt; do sleep 0.05; done >$0/key.ls 2>&1
        for _ in $(seq 100); do # each begins one, or ends one
            if kept >$0/key.kept; then break; fi
            printf c >&3
            sleep 0.4
        done
        touch $0/key.stop
    } 3>&1 | TERM=xterm timeout 120 script -qfec \
        "$run -o $0/key.sbt $0/loop $0/key.stop" /dev/null >$0/key.screen
    kept && grep "operations* can be run again" $0/key.screen &&
        build/ts-replay --execute --trust $0/key.sbt >$0/key.same &&
        grep "^same: [1-9]" $0/key.same' $folder
check "opencl: ts-record, zones of the program's own session" sh -c '
    for also in "" -DTRACESMITH_OPENCL; do
        gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fvisibility=hidden $also -I. \
            $HERE/own.c -o $0/own$also -lOpenCL -pthread -ldl ||
            exit 1
    done
    build/ts-record -o $0/zones.sbt $0/own $0/its.sbt >$0/own.out 2>$0/own.err
    test $? = 4 || exit 1
    build/ts-view --events --kinds zone,api_call --limit 0 --json \
        $0/zones.sbt >$0/own.events
    # Each call lies in its zone, on the same track.
    sed -n "s/.*start_ns\": \([0-9]*\), \"duration_ns\": \([0-9]*\),.*track\":\
 \([0-9]*\),.*label\": \"\([^\"]*\)\".*/\1 \2 \3 \4/p" $0/own.events | awk "
        \$4 == \"fill\" { from = \$1; to = \$1 + \$2; track = \$3 }
        \$4 == \"clEnqueueFillBuffer\" { n++
            bad += \$1 < from || \$1 + \$2 > to || \$3 != track }
        END { print n, bad; exit bad || n != 20 }" || exit 1
    build/ts-analyze --only zones $0/zones.sbt >$0/own.zones
    grep -q "device time, total" $0/own.zones &&
        grep -q "launched outside of zones  *0 ns" $0/own.zones || exit 1
    # Both have heard the same: nothing counts twice.
    build/ts-record -o $0/both.sbt $0/own-DTRACESMITH_OPENCL $0/its.sbt \
        >$0/own.out 2>$0/own.err
    test $? = 4 && grep "is not merged: both traces" $0/own.err &&
        build/ts-info $0/both.sbt | grep "^  memset  *20 " &&
        build/ts-info $0/its.sbt | grep "^  memset  *20 "' $folder
check "opencl: a program of many launches is built" gcc -std=gnu11 -O2 -Wall \
    -Wextra -Werror $HERE/many.c -o $folder/many -lOpenCL
check "opencl: ts-record reports calls that failed" sh -c '
    build/ts-record -o $0/failed.sbt $0/many 40 3 >$0/failed.out 2>$0/failed.err
    test $? = 5 && cat $0/failed.err &&
        grep -q ": 3 calls failed: clEnqueueNDRangeKernel with error -54 3" \
            $0/failed.err &&
        grep -q "recorded 40 of 40 launches$" $0/failed.err' $folder
check "opencl: ts-record, programs that a cache brings are said" sh -c '
    rm -f $0/cache
    for bound in 0 1; do
        build/ts-record -o $0/cached.sbt --capture all $0/many 3 0 $0/cache \
            >$0/cached.out 2>$0/cached.err
        test $? = 5 && cat $0/cached.err && test $bound = "$(grep -c \
            ": 1 OpenCL program had a compiled binary only, no source" \
            $0/cached.err)" || exit 1
        build/ts-replay --execute --trust $0/cached.sbt | grep "^same: 3 " ||
            exit 1
    done' $folder
check "opencl: ts-record, a capture of everything says how to keep less" sh -c '
    said() { # OPTIONS, how often
        build/ts-record -o $0/every.sbt --capture "$1" $0/many 10000 0 \
            >$0/every.out 2>$0/every.err
        test $? = 5 && cat $0/every.err && test "$2" = \
            "$(grep -c "every operation was captured; --capture count:3" \
            $0/every.err)" || exit 1
    }
    said all 1
    said "all operations:20" 0
    grep -q " 20 operations can be run again" $0/every.err || exit 1
    said count:9999 0' $folder
check "opencl: ts-record, a capture of everything on a terminal" sh -c '
    command -v script || exit 77
    shown() {
        tr "\r" "\n" <$0/every.screen |
            grep ": [0-9,]* operations captured, [0-9]"
    }
    rm -f $0/every.stop
    {
        for _ in $(seq 1200); do
            if shown >$0/every.shown; then break; fi
            sleep 0.1
        done
        touch $0/every.stop
    } | TERM=xterm timeout 200 script -qfec "build/ts-record --capture all \
        -o $0/every.sbt $0/loop $0/every.stop" /dev/null >$0/every.screen
    shown' $folder
# The program knows how many it launched; the ledger knows what is missing.
check "opencl: ts-record, a full disk, launches agree with the ledger" sh -c '
    mkdir -p $0/small
    unshare -m true 2>/dev/null || { echo "no namespaces of mounts"; exit 77; }
    unshare -m sh -c "mount -t tmpfs -o size=64k none $0/small || exit 77
        build/ts-record -o $0/small/full.sbt $0/many 20000 0 >$0/full.out \
            2>$0/full.err
        test \$? = 5 && build/ts-info $0/small/full.sbt >$0/full.info" || exit
    cat $0/full.err $0/full.info
    kernels=$(awk "\$1 == \"kernel\" { print \$2 }" $0/full.info)
    calls=$(awk "\$1 == \"api_call\" { print \$2 }" $0/full.info)
    grep -q "recorded ${kernels:-0} of 20,000 launches; no operation was" \
        $0/full.err || exit 1
    # Of each launch a call, an operation and an access; seven calls besides.
    tr -d , <$0/full.info | awk "/^Lost:/ { lost = \$2 }
        /^  (api_call|kernel|access) / { sum += \$2 }
        END { print lost + sum; exit lost + sum < 60007 ||
            lost + sum > 60020 }"' $folder
check "opencl: ts-record with a layer of the user" sh -c '
    gcc -shared -fPIC $HERE/layer.c -o $0/layer.so 2>$0/gcc.err
    export OPENCL_LAYERS=$PWD/$0/layer.so
    tests/checks/capture/record.sh $0/layer "" $0/end finish &&
        grep -qx "other layer: 1" $0/layer/err &&
        build/ts-info $0/layer/trace.sbt | grep -q "^ *memset *50 "' $folder
driver=$(cat /etc/OpenCL/vendors/pocl*.icd | head -n 1)
check "opencl: ts-record, a loader that ends and unloads layers" sh -c '
    gcc -std=gnu11 -O2 -Wall -Wextra -Werror $HERE/loader.c \
        -o $0/loader -ldl &&
        tests/checks/capture/record.sh $0/unloads "" $0/loader $1 &&
        build/ts-info $0/unloads/trace.sbt >$0/unloads/info &&
        grep -q "^ *memset *100 " $0/unloads/info &&
        grep -q "^Lost: nothing" $0/unloads/info' $folder "$driver"
check "opencl: ts-record, a script that uses ctypes" sh -c '
    command -v python3 >/dev/null || { echo "no python3"; exit 77; }
    tests/checks/capture/record.sh $0/ctypes "" python3 \
        $HERE/by_ctypes.py &&
        build/ts-info $0/ctypes/trace.sbt | grep -q "^ *memset *10 "' $folder
check "opencl: ts-record --kinds and --filter" sh -c '
    build/ts-record -q -o $0/some.sbt --kinds kernel,memcpy --filter "*duce" \
        $1 >$0/some.out
    test $? = 4 && cmp $0/some.out $0/plain/alone.out &&
        build/ts-info $0/some.sbt | awk "
            /^Events/ { on = 1; next }
            /^ +all/ { exit }
            on { print \$1, \$2 }" >$0/some &&
        printf "kernel 1\nmemcpy 31\n" | diff - $0/some' $folder $program

zstd=$(nm build/libtracesmith.a | sed -n '/U ZSTD_/{s/.*/-lzstd/p;q}')
# The library is compiled once for each compiler, not with each program.
inside() { # what to call it, tests, compiler and its flags
    name=$1 tests=$2
    shift 2
    compiler=$1
    flags="$*"
    check_build "opencl: library, $name" OUT=$folder/$name CC="$compiler" \
        CFLAGS="-g ${flags#"$compiler"}" $folder/$name/libtracesmith.a
    for test in $tests; do
        check "opencl: $test is built, $name" "$@" \
            -std=gnu11 -g -I. -Wall -Wextra -Wno-unused-parameter \
            -Wconversion -Wshadow -Werror \
            tests/backends/opencl/$test.c -o $folder/$test-$name \
            $folder/$name/libtracesmith.a -lcmocka -lOpenCL $zstd -lm -pthread
        check "opencl: $test, $name" $folder/$test-$name
    done
}
old='pocl_calls pocl_limits'
new='pocl_capture pocl_hash pocl_every_call'
inside gcc "$old $new" gcc -O1
check "opencl: all functions of the header that enqueue are tried" sh -c '
    echo "#include <CL/cl.h>" |
        gcc -E -DCL_TARGET_OPENCL_VERSION=300 -xc - >$0/cl.i &&
        grep -o "clEnqueue[A-Za-z0-9]*(" $0/cl.i | tr -d "(" |
            sort -u >$0/has &&
        $0/pocl_every_call-gcc list | sort | diff - $0/has' $folder
inside asan "$old $new pocl_capture_limits" $CLANG \
    -O0 -fsanitize=address,undefined -fno-sanitize-recover=all
# The driver is not instrumented.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1"
inside tsan "$old pocl_capture_limits" $CLANG -O0 -fsanitize=thread
