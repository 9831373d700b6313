# Records unmodified programs with the injected library: the trace contains
# what they did, and their output and result are the same as without it.
. tests/lib.sh
folder=build/capture
rm -rf $folder
mkdir -p $folder
check_build "capture: build" all
cuda=${CUDA_HOME:-/usr/local/cuda}
inject=$PWD/build/libtracesmith-inject.so

nvtx=$folder/nvtx_program
if test -e "$cuda/include/nvtx3/nvToolsExt.h"; then
    check "capture: an NVTX program is built" gcc -std=gnu11 -O2 -pthread \
        -isystem "$cuda/include" $HERE/nvtx_program.c -o $nvtx -ldl
    check "capture: one with payload schemas and counters is built" gcc \
        -std=gnu11 -O2 -Wall -isystem "$cuda/include" \
        $HERE/nvtx_payload.c -o $folder/nvtx_payload -ldl
    check "capture: NVTX is laid out as the handler says" gcc -std=c11 -I. \
        -isystem "$cuda/include" -fsyntax-only $HERE/nvtx_abi.c
else
    check "capture: an NVTX program" sh -c \
        'echo "no NVTX headers in $0/include"; exit 77' "$cuda"
fi
test ! -e $nvtx || check "capture: an NVTX program says all of it" sh -c '
    status=0
    TRACESMITH_OUT=$0.sbt NVTX_INJECTION64_PATH=$1 $0 >$0.out 2>$0.err ||
        status=$?
    test $status = 3 && test ! -s $0.err && test "$(cat $0.out)" = done &&
        $HERE/shape.sh $0.sbt |
        diff -u $HERE/nvtx_program.want -' $nvtx "$inject"

test ! -e $folder/nvtx_payload || check "capture: payloads, counters" sh -c '
    build/ts-record -q -o $0.sbt $0 >$0.out 2>$0.err &&
        test "$(cat $0.out)" = done && test ! -s $0.err &&
        $HERE/shape.sh $0.sbt |
        diff -u $HERE/nvtx_payload.want -' $folder/nvtx_payload

test ! -e $nvtx || check "capture: NVTX linked in, and in two copies" \
    $HERE/nvtx_static.sh $folder "$cuda"

client=$folder/client
check "capture: a client that looks for a handler is built" gcc -std=gnu11 -O2 \
    -Wall -Wextra -Werror $HERE/client.c -o $client -pthread -ldl
under() { # what it does, zones of it
    check "capture: ts-record, a program that does $1" \
        $HERE/record.sh $folder/$1 "$2" $client $1
}
under plain "1 begin
1 end"
under fork "1 begin
1 child
2 end
1 parent"
under clone "1 begin
1 end"
under exec "2 begin
1 end"
under threads "1 begin
1 end
20000 of a thread"
under crash "1 begin
1 end"
under _exit "1 begin
1 end"
under kill "1 begin
1 end"
check "capture: a child with the number of an earlier process" sh -c '
    mkdir -p $0/reused && rm -f $0/reused/*
    TRACESMITH_OUT=$PWD/$0/reused/%p.sbt NVTX_INJECTION64_PATH=$1 \
        $0/client reused >$0/reused.out || exit 1
    earlier=$(grep -lx earlier $0/reused/*.sbt) && test -n "$earlier" &&
        build/ts-view --events --kinds zone "${earlier%.sbt}-1.sbt" |
        grep -w child && test "$(ls $0/reused | wc -l)" = 3' $folder "$inject"
check "capture: ts-record, a program with another handler of CUDA" sh -c '
    gcc -shared -fPIC $HERE/chained.c -o $0/chained.so
    export CUDA_INJECTION64_PATH=$PWD/$0/chained.so
    $HERE/record.sh $0/cuda "1 begin
1 end" $0/client cuda && grep -qx "the other handler" $0/cuda/out' $folder
for option in ranks image log delay kinds filter size wrong operations trigger \
    untriggered key raw stacks flight snapshot live children later daemon \
    user mounts \
    killed group stop; do
    need=sh
    case $option in
    key | raw | live | stop) need=script ;;
    group) need=python3 ;;
    esac
    if ! command -v $need >/dev/null; then
        check "capture: ts-record, $option" sh -c 'echo "no $0"; exit 77' $need
    else
        check "capture: ts-record, $option" $HERE/options.sh $folder $option
    fi
done
check "capture: a program with a session of its own is built" sh -c '
    make -s examples && gcc -std=gnu11 -O2 -Wall -Wextra -Werror \
        -fvisibility=hidden -I. $HERE/own.c -o $0/own -pthread -ldl' \
    $folder
for what in plain alone example pipeline same again moved child exec kill \
    parts stale user mounts flight; do
    check "capture: ts-record, a session of the program's own, $what" \
        $HERE/own.sh $folder $what
done
test ! -e $nvtx || check "capture: ts-record, a real NVTX program" \
    $HERE/record.sh $folder/real "1 in the worker
1 my lock
1 mü
1 outer
1 registered
1 über" $nvtx
check "capture: ts-record, a shell with many children" \
    $HERE/record.sh $folder/shell "6 begin
6 end" sh -c 'for i in 1 2 3; do "$0"; "$0" & done; wait; exit 9' $client
check "capture: ts-record passes stdin, signals and failures on" sh -c '
    set -u
    export TMPDIR=$0
    test "$(echo through | build/ts-record -q -o $0/cat.sbt -- cat)" = through
    build/ts-record -q -o $0/none.sbt -- $0/no-such-program 2>/dev/null
    test $? = 127 && test ! -e $0/none.sbt || exit 1
    echo "#!/no/shell" >$0/no-shell && chmod +x $0/no-shell
    build/ts-record -q -o $0/none.sbt -- $0/no-shell 2>$0/none.err
    test $? = 127 && grep -q "its interpreter" $0/none.err || exit 1
    (cd $0 && ../ts-record -q -o none.sbt client 2>none.err)
    test $? = 127 && grep -q "write [.]/ before" $0/none.err || exit 1
    build/ts-record -q -o $0/none.sbt -- $0 2>/dev/null
    test $? = 126 || exit 1
    for name in "" -; do
        (cd $0 && ../ts-record -q -o "$name" true 2>/dev/null)
        test $? = 125 || exit 1
    done
    build/ts-record -q -o $0/term.sbt -- sh -c "echo \$\$ >$0/pid; sleep 60" &
    recorder=$!
    while ! test -s $0/pid; do sleep 0.05; done
    kill -TERM $recorder
    wait $recorder
    test $? = 143 || exit 1
    ! kill -0 $(cat $0/pid) 2>/dev/null' $folder
check "capture: each variable that tells a rank is in the documents" sh -c '
    sed -n "/int ts_inject_rank/,/^}/s/^ *{ \"\([A-Z0-9_]*\)\", .*/\1/p" \
        backends/inject/control.h >$0/variables
    test "$(wc -l <$0/variables)" -ge 8 || exit 1
    while read -r name; do
        grep -q "^| .$name. |" docs/capture.md || {
            echo "$name"
            exit 1
        }
    done <$0/variables' $folder
check "capture: what the tools say of themselves fits into 80 columns" sh -c '
    for tool in record devices symbolize; do
        build/ts-$tool --help | awk "length > 80 { print; bad = 1 }
            END { exit bad }" || exit 1
    done'
check "capture: ts-record --no-merge leaves a folder of traces" sh -c '
    build/ts-record -o $0/parts.sbt --no-merge $0/client fork >$0/parts.out \
        2>$0/parts.err && test ! -e $0/parts.sbt &&
        test "$(ls $0/parts.sbt.*/*.sbt | wc -l)" = 2 &&
        grep -q "wrote 2 traces of 2 processes to " $0/parts.err' $folder

check "capture: ts-record, a program with nothing to record" sh -c '
    build/ts-record -o $0/nothing.sbt sh -c "exit 6" 2>$0/nothing.err
    test $? = 6 && grep -q "nothing was recorded: .*load the recorder" \
        $0/nothing.err &&
        test ! -e $0/nothing.sbt && ! ls -d $0/nothing.sbt.*' $folder
check "capture: ts-record, a program with another handler of NVTX" sh -c '
    make -s build/tests/doubles/libnvtx_other.so
    export NVTX_INJECTION64_PATH=$PWD/build/tests/doubles/libnvtx_other.so
    OTHER_SAYS=$0/other.alone $0/client plain >$0/other.out &&
        export OTHER_SAYS=$0/other.both &&
        build/ts-record -q -o $0/other.sbt $0/client plain >$0/other.out &&
        diff $0/other.alone $0/other.both &&
        grep -qx "push begin" $0/other.both &&
        build/ts-view --events --kinds zone --limit 0 $0/other.sbt |
        grep -q begin' $folder
check "capture: ts-record, a handler of the user that is not there" sh -c '
    NVTX_INJECTION64_PATH=/no/handler build/ts-record -o $0/gone.sbt \
        $0/client plain 2>$0/gone.err >$0/gone.out &&
        grep -q "injected library cannot be loaded: /no/handler" $0/gone.err &&
        build/ts-info $0/gone.sbt | grep -q "zone  *2 "' $folder
check "capture: ts-record under ts-record takes no handler away" sh -c '
    build/ts-record -q -o $0/outer.sbt build/ts-record -o $0/inner.sbt \
        $0/client plain >$0/inner.out 2>$0/inner.err &&
        test -e $0/inner.sbt &&
        ! grep -q "injected library" $0/inner.err' $folder
check "capture: ts-record says of a crash only what is true" sh -c '
    build/ts-record -o $0/dead.sbt $0/client crash >$0/dead.out 2>$0/dead.err
    test $? = 134 && grep -q "(Aborted); its events up to then" \
        $0/dead.err || exit 1
    build/ts-record -o $0/dead.sbt sh -c "kill -9 \$\$" 2>$0/dead.err
    test $? = 137 && grep -q "nothing was recorded" $0/dead.err &&
        grep -q "by signal 9 (Killed)$" $0/dead.err && exit 0
    cat $0/dead.err
    exit 1' $folder
check "capture: ts-record names what could not be recorded" sh -c '
    said=$( (ulimit -f 1
        build/ts-record -o $0/full.sbt $0/client plain >/dev/null) 2>&1)
    test $? = 125 && test ! -e $0/full.sbt && echo "$said" |
        grep -q "not recorded: process [0-9]*: no space"' $folder
check "capture: a control file that is too small is said, and no more" sh -c '
    : >$0/short && TRACESMITH_CONTROL=$0/short TRACESMITH_LOG=$0/short.log \
        TRACESMITH_OUT=$0/short.sbt NVTX_INJECTION64_PATH=$1 $0/client plain \
        >$0/short.out && grep -q "belongs to another ts-record" $0/short.log' \
    $folder "$inject"
check "capture: without TRACESMITH_OUT nothing is recorded" sh -c '
    mkdir $0 && NVTX_INJECTION64_PATH=$1 $2 >/dev/null &&
        cd $0 && test -z "$(ls)"' $folder/empty "$inject" $client
check "capture: only the names vendors look for are visible" sh -c '
    nm -D --defined-only "$0" | sed "s/.* //" | LC_ALL=C sort >$1/names
    printf "%s\n" InitializeInjection InitializeInjectionNvtx2 \
        InitializeInjectionNvtxExtension OnLoad clDeinitLayer \
        clGetLayerInfo clInitLayer clInitLayerWithProperties \
        rocprofiler_configure | LC_ALL=C sort |
        diff -u - $1/names' \
    "$inject" $folder

# The CUDA backend against NVIDIA's headers, and NVIDIA's library without a
# driver; what it does with a GPU is shown by doubles (tests/backends/cupti).
if test -e "$cuda/include/cupti.h"; then
    check "capture: CUPTI is laid out as the backend and the double say" sh -c '
        gcc -std=c11 -I. -isystem "$1/include" $HERE/cupti_abi.c \
            -o $0/cupti_abi -pthread -ldl && $0/cupti_abi' $folder "$cuda"
    check "capture: the driver is laid out as captures and replays say" \
        gcc -std=c11 -I. -isystem "$cuda/include" -fsyntax-only \
        $HERE/cuda_abi.c
else
    check "capture: CUPTI is laid out as the backend and the double say" \
        sh -c 'echo "no CUPTI headers in $0/include"; exit 77' "$cuda"
fi
check "capture: the real CUPTI without a driver" sh -c '
    if ldconfig -p | grep -q "libcuda[.]so[.]1"; then
        echo "there is a driver"
        exit 77
    fi
    library=$(ls $1/lib*/libcupti.so $1/extras/CUPTI/lib64/libcupti.so \
        2>/dev/null | head -n 1)
    if test -z "$library"; then
        echo "no libcupti.so in $1"
        exit 77
    fi
    gcc -std=c11 -I. $HERE/cupti_alone.c -o $0/cupti_alone \
        -pthread -ldl || exit 1
    LD_LIBRARY_PATH=$(dirname $library) $0/cupti_alone $0/alone.sbt &&
        build/ts-info $0/alone.sbt | grep "no driver responds to CUPTI" &&
        build/ts-info $0/alone.sbt | grep "zone  *1 "' $folder "$cuda"

# A CUDA program that knows nothing of us, with doubles of its libraries.
check "capture: a CUDA program is built" sh -c '
    make -s build/tests/doubles/libcupti.so build/tests/doubles/libcudart.so &&
        mkdir -p $0/cuda &&
        cp build/tests/doubles/libcupti.so $0/cuda/libcupti.so.13 &&
        cp build/tests/doubles/libcudart.so $0/cuda &&
        gcc -O1 -Wall -Wextra -Werror -rdynamic $HERE/cuda_program.c \
            -o $0/cuda_program -L$0/cuda -lcudart &&
        gcc -O1 -Wall -Wextra -Werror -rdynamic -DCUDA13 \
            $HERE/cuda_program.c -o $0/cuda_program13 -L$0/cuda \
            -lcudart' $folder
for program in cuda_program cuda_program13; do
    check "capture: ts-record, a CUDA program ($program)" sh -c '
        export LD_LIBRARY_PATH=$0/cuda
        $HERE/record.sh $0/run_$1 "" $0/$1 || exit 1
        seen=$(build/ts-view --events --limit 0 --json $0/run_$1/trace.sbt |
            sed -n "s/.*\"kind\": \"\([^\"]*\)\".*/\1/p" | sort | uniq -c |
            sed "s/^ *//")
        echo "$seen"
        test "$seen" = "33 api_call
1 device_sync
2 gpu_alloc
2 gpu_free
25 kernel
3 memcpy" || exit 1
        build/ts-info $0/run_$1/trace.sbt | grep -A99 Lost:
        build/ts-info $0/run_$1/trace.sbt | grep -q "Lost: nothing"' \
        $folder $program
    check "capture: ts-record, another profiler has it ($program)" sh -c '
        export LD_LIBRARY_PATH=$0/cuda DOUBLE_subscribe=39
        $HERE/record.sh $0/taken_$1 "" $0/$1 || exit 1
        build/ts-info $0/taken_$1/trace.sbt >$0/taken_$1/info
        cat $0/taken_$1/info
        grep "backend.cupti another profiler.*: calls are recorded" \
            $0/taken_$1/info && grep "cupti.launches 25" $0/taken_$1/info &&
            grep "28 backend .*memsets: another profiler records them" \
                $0/taken_$1/info &&
            grep "^  api_call  *32 " $0/taken_$1/info' $folder $program
done
check "capture: ts-record, collectives of CUDA" sh -c '
    rm -rf $0/collective && mkdir $0/collective
    gcc -O1 -Wall -Wextra -Werror -rdynamic -o $0/collective/program \
        tests/checks/capture/cuda_collective.c -L$0/cuda -lcudart &&
        LD_LIBRARY_PATH=$0/cuda tests/checks/capture/collective.sh \
            $0/collective $0/collective/program' $folder
check "capture: ts-record, summaries of a CUDA program" sh -c '
    export LD_LIBRARY_PATH=$0/cuda
    said() { # OPTION..., LINE
        for line; do :; done
        build/ts-record -o $0/said.sbt "$1" $0/cuda_program >$0/said.out \
            2>$0/said.err
        grep -q "$line" $0/said.err && return
        cat $0/said.err
        exit 1
    }
    said --no-merge "recorded 25 of 25 launches"
    said --no-merge "said.sbt.*/[0-9]*.sbt: .*, process [0-9]*, .*nothing"
    said --flight-recorder=60s "recorded 25 of 25 launches"
    export DOUBLE_zero_times=4
    said --live "ts-record: 4 records were LOST (backend 4)"
    said --no-merge "ts-record: 4 records were LOST (backend 4)"
    said --flight-recorder=60s "ts-record: 4 records were LOST (backend 4)"
    said --flight-recorder=60s "ts-record:   4: CUPTI: operations without times"
    said --flight-recorder=60s "recorded 21 of 25 launches"
    ! grep "rings were full" $0/said.err || exit 1
    # What it was to forget is none, neither in the sum nor among its causes.
    build/ts-record -o $0/said.sbt --flight-recorder=60s --flight-memory=64K \
        sh -c "$0/client many 100000; $0/cuda_program" >$0/said.out \
        2>$0/said.err
    grep -q "rings were full" $0/said.err &&
        grep -q "ts-record: 4 records were LOST (backend 4)" $0/said.err || {
        cat $0/said.err
        exit 1
    }
    export DOUBLE_lose_kernels=25
    said --live "ts-record: kernels were launched, but none was reported"
    rm -rf $0/said.sbt.*' $folder
check "capture: ts-record, a CUDA program that has the address of dlsym" sh -c '
    export LD_LIBRARY_PATH=$0/cuda DOUBLE_subscribe=39
    gcc -O1 -Wall -Wextra -Werror -no-pie -fno-pie \
        $HERE/cuda_address.c -o $0/cuda_address -L$0/cuda -lcudart ||
        exit 1
    timeout -k 1 60 build/ts-record -o $0/address.sbt $0/cuda_address \
        >$0/address.out 2>$0/address.err
    test $? = 8 && grep -qx found $0/address.out && exit 0
    cat $0/address.out $0/address.err
    exit 1' $folder
check "capture: ts-record, a program with a profiler of its own" sh -c '
    export LD_LIBRARY_PATH=$0/cuda
    for what in "" -DPLUGIN; do
        gcc -O1 -Wall -Wextra -Werror $what $HERE/cuda_two.c \
            -o $0/cuda_two$what ${what:+-shared -fPIC} -L$0/cuda -lcudart \
            -l:libcupti.so.13 || exit 1
    done
    mv $0/cuda_two-DPLUGIN $0/libkineto_double.so
    run() { # what it says, OPTION...
        want=$1
        shift
        build/ts-record "$@" >$0/two.out 2>$0/two.err
        test $? = 4 && build/ts-info $0/two.sbt >$0/two.info
        cat $0/two.out $0/two.err $0/two.info
        test "$(cat $0/two.out)" = "$want" || exit 1
    }
    kernels() { # recorded, lost
        grep -q "^  kernel  *$1 " $0/two.info &&
            grep -q "recorded $1 of 25 launches" $0/two.err || exit 1
        grep -q "^  api_call  *27 " $0/two.info || exit 1
        test -z "$2" || grep "^ *$2 backend .*another profiler records them" \
            $0/two.info || exit 1
    }
    asked() {
        grep -q "cupti.asked  *$1" $0/two.info &&
            grep -q "ts-record: $1" $0/two.err || exit 1
    }
    # Who asks is refused, and named.
    run refused -o $0/two.sbt -- $0/cuda_two
    kernels 25 "" && asked "cuda_two requested CUPTI and was refused"
    run refused -o $0/two.sbt --yield=kineto -- $0/cuda_two
    kernels 25 "" && asked "cuda_two requested CUPTI and was refused"
    # Or gets what it gets alone, and we the calls.
    run "15 kernels" -o $0/two.sbt --yield -- $0/cuda_two
    kernels 10 15 && asked "cuda_two requested CUPTI and has it until the end"
    run "15 kernels" -o $0/two.sbt --yield -- $0/cuda_two names
    kernels 10 15 && asked "cuda_two requested CUPTI and has it"
    run "15 kernels" -o $0/two.sbt --yield=kineto -- $0/cuda_two \
        $PWD/$0/libkineto_double.so
    kernels 10 15
    asked "PyTorch.s profiler (Kineto), libkineto_double.so requested \
CUPTI and has it"' $folder
check "capture: ts-record, a CUDA program, and a flush that hangs" sh -c '
    export LD_LIBRARY_PATH=$0/cuda DOUBLE_hang_flush=1
    $HERE/record.sh $0/cuda_hang "" $0/cuda_program || exit 1
    build/ts-info $0/cuda_hang/trace.sbt | grep "did not respond"' $folder
check "capture: tests/gpu/run.sh with doubles" tests/gpu/run.sh --dry
check "capture: a recording of CUPTI gives the same trace again" sh -c '
    results=build/gpu/results-dry
    rm -rf $0/told && mkdir $0/told
    for part in recorded-work traces; do
        tar -xzf $results/$part.tar.gz -C $0/told || exit 1
    done
    tests/gpu/replay-recording.sh $0/told/recorded/work $0/told/again.sbt \
        $0/told/all.sbt' $folder
for program in work runtime torch; do
    check "capture: what CUPTI reported of $program on an H200" sh -c '
        tar -xzf tests/gpu/recorded/h200-$1.tar.gz -C $0 &&
            tests/gpu/replay-recording.sh $0/$1 $0/h200-$1.sbt &&
            build/ts-info $0/h200-$1.sbt | grep "^Lost: nothing$"' \
        $folder $program
done
check "capture: tests/gpu/run.sh without a compiler, and without time" sh -c '
    OUT=$0/gpu-none TOTAL=0 CC=false tests/gpu/run.sh --dry >$0/gpu.out 2>&1
    test $? = 1 && grep "build is taken as it is" $0/gpu.out &&
        grep "^a GPU is there  *FAILED  *the time is up" $0/gpu.out &&
        test -s $0/gpu-none/table.txt && test -s $0/gpu-none/logs.tar.gz' \
    $folder
check "capture: tests/gpu/run.sh goes on where a program is not built" sh -c '
    cat >$0/no-hash <<END
#!/bin/sh
case "\$*" in *cuda_hash.c*) echo "error: no hash today" >&2; exit 1 ;; esac
exec ${CC:-cc} "\$@"
END
    chmod +x $0/no-hash
    rm -rf $0/gpu-some && mkdir $0/gpu-some
    OUT=$0/gpu-some TOTAL=0 CC=$PWD/$0/no-hash tests/gpu/run.sh --dry \
        >$0/gpu.out 2>&1
    test $? = 1 || exit 1
    cat $0/gpu-some/table.txt
    grep "^everything is built  *FAILED .*no hash" $0/gpu-some/table.txt &&
        grep "^the recorder begins: kernels  *FAILED" $0/gpu-some/table.txt &&
        tar -xzOf $0/gpu-some/logs.tar.gz logs/build | grep "no hash today" &&
        test "$(ls $0/gpu-some)" = "logs.tar.gz
table.txt"' $folder
check "capture: graphs of CUDA elsewhere, wrong, cut and merged" sh -c '
    dir=$0/graphs
    rm -rf $dir
    mkdir -p $dir
    for name in cuda.so.1 cupti.so.13; do
        double=build/tests/doubles/lib${name%.so*}.so
        make -s "$double" && cp "$double" $dir/lib$name || exit 1
    done
    make -s build/tests/doubles/libcubin.so build/ts-cut build/ts-merge \
        build/ts-replay || exit 1
    gcc -std=gnu11 -O2 -I. tests/gpu/cuda_capture.c -o $dir/app -ldl || exit 1
    export LD_LIBRARY_PATH=$dir DOUBLE_CUDA_JIT=build/tests/doubles/libcubin.so
    again() { # trace, status, what to find, options
        trace=$dir/$1.sbt status=$2 find=$3
        shift 3
        build/ts-replay --execute --trust --timeout 50 "$trace" "$@" \
            >$dir/out 2>&1
        got=$?
        cat $dir/out
        test $got = $status && grep -q -- "$find" $dir/out
    }
    build/ts-record -q --capture "all budget:1G" -o $dir/all.sbt -- $dir/app ||
        exit 1
    first=$(build/ts-replay --execute --trust --json $dir/all.sbt | awk "
        /\"operation\":/ { n = \$2 + 0 } /\"nodes\":/ { print n; exit }")
    again all 0 "8 more nodes of graph launches" &&
        again all 0 "same: 32 operations" --chain &&
        again all 0 "same: .* regions" --overlap &&
        again all 0 "same: .* regions" --as-graph || exit 1
    DOUBLE_CUDA_WRONG=add again all 1 "part of a graph launch of add" \
        --ops $first..$((first + 4)) || exit 1
    DOUBLE_CUDA_WRONG=add again all 1 "a launch of a graph of 3 nodes" \
        --ops $first..$((first + 4)) --bisect -o $dir/small.sbt || exit 1
    again small 0 "same: 1 operations" || exit 1
    build/ts-cut -o $dir/cut.sbt --name "^add\$" $dir/all.sbt || exit 1
    again cut 0 "8 more nodes of graph launches" || exit 1
    build/ts-merge -o $dir/merged.sbt $dir/all.sbt $dir/small.sbt || exit 1
    again merged 0 "same: 33 operations"' $folder
check "capture: operations of CUDA count once" sh -c '
    dir=$0/graphs
    export LD_LIBRARY_PATH=$dir DOUBLE_CUDA_JIT=build/tests/doubles/libcubin.so
    DOUBLE_CUDA_TELL=1 build/ts-record --capture "all budget:1G" \
        -o $dir/once.sbt -- $dir/app 2>$dir/once.said || exit 1
    # But for the last one, of managed memory, each kernel runs again.
    ran=$(($(grep -c "^ran " $dir/once.said) - 1))
    grep "^ts-record" $dir/once.said
    for how in "" --chain --overlap "--loops 3" "--as-graph --loops 2"; do
        tests/checks/execute/counts.sh $dir/once.sbt $dir/once.said $ran $how ||
            exit 1
    done' $folder
check "capture: two devices of CUDA in another process" sh -c '
    dir=$0/graphs
    gcc -std=gnu11 -O2 -I. tests/gpu/cuda_wide.c -o $dir/wide -ldl || exit 1
    export LD_LIBRARY_PATH=$dir DOUBLE_CUDA_JIT=build/tests/doubles/libcubin.so
    export DOUBLE_CUDA_DEVICES=2
    trace=$dir/devices.sbt
    build/ts-record -q --capture "all budget:1G" -o $trace \
        -- $dir/wide devices || exit 1
    again() { # status, what to find, options
        status=$1 find=$2
        shift 2
        build/ts-replay --execute --trust --timeout 50 $trace "$@" \
            >$dir/out 2>&1
        got=$?
        cat $dir/out
        test $got = $status && grep -q -- "$find" $dir/out
    }
    # Two copies to variables, which lie where the code does.
    again 0 "13 as recorded (S1), 2 rewritten (S2), 0 not run (S3)" || exit 1
    for how in "" --chain --overlap --as-graph "--loops 3"; do
        again 0 " 15 executed, 0 substituted, 0 declined" $how || exit 1
    done
    again 0 "same: 7 operations" --device 1 &&
        again 0 "same: 1 operations" --device 1 --ops 9..9 || exit 1
    DOUBLE_CUDA_WRONG=biased again 1 "first divergence: operation 4" || exit 1
    DOUBLE_CUDA_DEVICES=1 again 3 "uses 2 devices, but this machine has 1$" &&
        build/ts-replay --execute --trust $trace --extract biased \
            --device 1 -o $dir/far >$dir/out 2>&1 || { cat $dir/out; exit 1; }
    (cd $dir/far && gcc main.c -o main -ldl) || exit 1
    (cd $dir/far && LD_LIBRARY_PATH=.. DOUBLE_CUDA_JIT= ./main 1) |
        grep -qx same' $folder
check "capture: kernels of CUDA as programs" sh -c '
    dir=$PWD/$0/graphs
    gcc -std=gnu11 -O1 -Wall -Wextra -Werror $HERE/cuda_handles.c \
        $dir/libcuda.so.1 -o $dir/handles || exit 1
    export LD_LIBRARY_PATH=$dir
    export DOUBLE_CUDA_JIT=$PWD/build/tests/doubles/libcubin.so
    trace=$dir/handles.sbt
    build/ts-record -q --capture "all budget:1G" -o $trace -- $dir/handles ||
        exit 1
    extract() { # folder, kernel, options
        into=$dir/$1 kernel=$2
        shift 2
        build/ts-replay --execute --trust $trace --extract $kernel \
            -o $into "$@" || return
        (cd $into && gcc -Wall -Wextra -Werror main.c -o main -ldl)
    }
    says() { # folder, status, what it says
        (cd $dir/$1 && ./main) >$dir/out 2>&1
        got=$?
        cat $dir/out
        test $got = $2 && grep -q -- "$3" $dir/out
    }
    where() { # the first operation of JSON in which this stands
        build/ts-replay --execute --trust --json $trace | awk "
            /\"operation\":/ { n = \$2 + 0 } /$1/ { print n; exit }"
    }
    refuses() { # kernel, what it says, options
        kernel=$1 find=$2
        shift 2
        if extract refused $kernel "$@" 2>$dir/err; then exit 1; fi
        cat $dir/err
        grep -q "$find" $dir/err || exit 1
    }
    refuses mapped "uses a tensor map, which"
    refuses textured "uses a texture, which"
    trace=$dir/all.sbt
    # A variable of the module, pointers in memory, an attribute of the function
    # without which it does not start.
    for kernel in add biased through nothing; do
        extract $kernel $kernel && says $kernel 0 "^same$" || exit 1
    done
    grep -q "setting_count = 1;" $dir/nothing/main.c || exit 1
    first=$(where "\"name\": \"nothing\"")
    extract together add --ops $((first + 1))..$((first + 1)) &&
        grep -q "attribute_count = 1;" $dir/together/main.c &&
        says together 0 "^same$" || exit 1
    DOUBLE_CUDA_WRONG=add says add 1 "^after-0.bin: byte 0: expected" &&
        DOUBLE_CUDA_WRONG=biased says biased 1 "^after-4.bin: byte 0: " &&
        DOUBLE_CUDA_REFUSE=3 says add 0 "^same$" &&
        DOUBLE_CUDA_REFUSE=1000 DOUBLE_CUDA_ARENA=7d0000000000 says add 2 \
            "where it was, is not to be had" || exit 1
    printf "\377" |
        dd of=$dir/add/after-0.bin bs=1 seek=13 conv=notrunc 2>$dir/dd &&
        says add 1 "^after-0.bin: byte 5: expected ff, found 00$" || exit 1
    rm $dir/add/before-0.bin
    says add 2 "^before-0.bin: cannot be read$" || exit 1
    first=$(where "\"nodes\":")
    refuses add "is launched only by graphs" --ops $first..$first
    first=$(where "\"reason\": \"UVM\"")
    refuses add "were declined" --ops $first..$first' $folder
