# Runs operations of OpenCL again on PoCL: unit tests of the executor, and
# unmodified programs, recorded and replayed.
. tests/lib.sh
area=opencl-execute
folder=build/opencl-execute
. tests/checks/execute/replays.sh
rm -rf $folder
mkdir -p $folder
export POCL_CACHE_DIR=$PWD/build/pocl # kernels are compiled once
export XDG_CACHE_HOME=$PWD/build/cache # also those that are run again
export POCL_MAX_PTHREAD_COUNT=2       # one for a kernel that does not end

if ! echo '#include <CL/cl.h>' | gcc -E -xc - >/dev/null 2>&1 ||
    ! gcc -shared -o $folder/link.so -xc /dev/null -lOpenCL 2>/dev/null ||
    ! ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; then
    check "opencl-execute: programs" sh -c \
        'echo "no PoCL, or no headers of OpenCL"; exit 77'
    exit 0
fi
check_build "opencl-execute: build" build/ts-record build/ts-replay \
    build/libtracesmith-inject.so
check "opencl-execute: the interface is as the executor says" gcc -std=gnu11 \
    -I. -fsyntax-only $HERE/abi.c

zstd=$(nm build/libtracesmith.a | sed -n '/U ZSTD_/{s/.*/-lzstd/p;q}')
executor() { # what to call it, compiler and its flags
    name=$1
    shift
    check "opencl-execute: the executor is built, $name" "$@" \
        -std=gnu11 -g -I. -Wall -Wextra -Wno-unused-parameter \
        -Wconversion -Wshadow -Werror \
        tests/backends/opencl/pocl_execute.c build/libtracesmith.a \
        -o $folder/executor-$name -lcmocka $zstd -lm -ldl -pthread
    check "opencl-execute: the executor, $name" $folder/executor-$name
}
executor gcc gcc -O1
# What the driver keeps is its own; the fuzzer counts what it is handed.
echo leak:libpocl >$folder/lsan
export LSAN_OPTIONS=suppressions=$PWD/$folder/lsan:print_suppressions=0
executor asan $CLANG -O0 -fsanitize=address,undefined \
    -fno-sanitize-recover=all

# Programs that know nothing of TraceSmith: recorded, and replayed elsewhere.
check "opencl-execute: programs are built" sh -c '
    for program in matmul reduce sort fft stencil steps count; do
        gcc -std=gnu11 -O1 -Wall -Wextra -Werror \
            $HERE/$program.c -o $0/$program -lOpenCL || exit 1
    done' $folder

same() { # program, operations that must be the same, declined
    program=$1
    check "opencl-execute: $program, every byte" sh -c '
        operations=$1 declined=$2
        shift 2
        build/ts-record -q -o $0.sbt --capture all "$@" >$0.out || exit 1
        cat $0.out
        grep -q ": right" $0.out &&
            build/ts-replay --execute --trust $0.sbt >$0.replay
        status=$?
        cat $0.replay
        test $status = 0 &&
            grep -q "^same: $operations operations" $0.replay &&
            grep -q ", $declined declined" $0.replay' \
        $folder/$program "$2" "$3" $folder/$program
}
same matmul 3 0
same reduce 6 0
same sort 29 0
same fft 36 0
same stencil 9 0 # a map moves nothing
same steps 4 1 # one on shared memory

# What a kernel leaves in a cache that other programs use would run there.
check "opencl-execute: the cache of the user stays as it is" sh -c '
    rm -rf $0/cache && mkdir $0/cache &&
    POCL_CACHE_DIR=$PWD/$0/cache build/ts-replay --execute --trust \
        $0/matmul.sbt && test -z "$(ls -A $0/cache)"' $folder
check "opencl-execute: count, a kernel that says when it runs" sh -c '
    build/ts-record -o $0.sbt --capture all $0 >$0.out 2>$0.said
    cat $0.out $0.said
    test $(grep -c "^ran count" $0.out) = 5 && grep -q ": right" $0.out' \
    $folder/count
graphs="--as-graph --loops 2"
build/ts-replay --execute --trust --as-graph $folder/matmul.sbt 2>&1 |
    grep -q 'of opencl has no graphs' && graphs=
for how in "" --chain --overlap "--loops 3" ${graphs:+"$graphs"} \
    "--chain --bisect -o $folder/none.sbt"; do
    counts_once $folder/count.sbt $folder/count.said 5 $how
done
replays "a chain of operations that are waited for" 0 \
    'from record   0 chunks' $folder/count.sbt --chain

# PoCL builds programs with another constant than the program did.
export POCL_EXTRA_BUILD_FLAGS=-DFACTOR=2
replays "another constant, by name" 1 'operation [0-9]*, kernel scale on' \
    $folder/steps.sbt
replays "another constant, no other kernel" 1 'diverged: 1 of 4' \
    $folder/steps.sbt --backend opencl
replays "another constant, in a chain" 1 'diverged: 3 of 4' \
    $folder/steps.sbt --chain
replays "another constant, narrowed down" 1 \
    'found: operation [0-9]*, kernel scale' \
    $folder/steps.sbt --chain --bisect -o $folder/small.sbt
replays "the operation alone" 1 'diverged: 1 of 1' $folder/small.sbt
check "opencl-execute: another constant, as a program" sh -c '
    set -e
    build/ts-replay --execute $0/steps.sbt --extract "sc*" -o $0/scale
    cd $0/scale
    gcc -Wall -Wextra -Werror main.c -o main -lOpenCL
    ! ./main >out && grep -q "byte 4: expected 03, found 02" out' $folder
export POCL_EXTRA_BUILD_FLAGS=-DFACTOR=nothing
replays "a program that does not build" 0 "undeclared identifier 'nothing'" \
    $folder/steps.sbt
replays "a program that does not build, as JSON" 0 \
    '"why": "the program cannot be built:.n.*identifier' \
    $folder/steps.sbt --json
unset POCL_EXTRA_BUILD_FLAGS
for kernel in matmul:multiply sort:exchange stencil:spread; do
    check "opencl-execute: $kernel as a program" sh -c '
        set -e
        build/ts-replay --execute $0/${1%:*}.sbt --extract ${1#*:} -o $0/$1
        cd $0/$1
        gcc -Wall -Wextra -Werror main.c -o main -lOpenCL
        ./main | grep -qx same' $folder $kernel
done
replays "a range of operations" 0 'same: 3 operations' $folder/reduce.sbt \
    --ops 4..6
replays "in a chain" 0 'same: 36 operations' $folder/fft.sbt --chain
replays "queues beside each other" 0 'concurrent  *2 streams' \
    $folder/reduce.sbt --overlap
if test -z "$graphs"; then
    check "opencl-execute: graphs" sh -c \
        'echo "no cl_khr_command_buffer here"; exit 77'
else
    for program in matmul reduce sort fft steps; do
        replays "$program, as one graph" 0 'launch  .* mean of 3' \
            $folder/$program.sbt --as-graph --loops 3
        replays "$program, as one graph, every byte" 0 '^same: ' \
            $folder/$program.sbt --as-graph
    done
    replays "the time of a graph" 0 '"graph_ns": [1-9]' $folder/fft.sbt \
        --as-graph --json
fi
replays "each thrice" 0 'same: 9 operations' $folder/stencil.sbt --loops 3
replays "with another executor" 3 'opencl' $folder/matmul.sbt --backend vdev
check "opencl-execute: without OpenCL it says so" sh -c '
    TRACESMITH_OPENCL_DEVICE=abacus build/ts-replay --execute --trust \
        $0/matmul.sbt >$0/none 2>&1
    test $? = 3 && grep -q "no OpenCL device .abacus., but" $0/none' \
    $folder
