# OpenCL on PoCL: programs that know nothing of TraceSmith, and one that does.
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
    -I. -fsyntax-only tests/capture/opencl_abi.c
program=$folder/program
check "opencl: a program is built" gcc -std=gnu11 -O2 -Wall -Wextra -Werror \
    tests/capture/opencl_program.c -o $program -lOpenCL -pthread
check "opencl: ts-record, counts, output and order of a program" \
    tests/capture/opencl_counts.sh $folder/plain $program
check "opencl: without TRACESMITH_OUT nothing is recorded" sh -c '
    mkdir $0 && OPENCL_LAYERS=$TS_INJECT $1 >$0/out; test $? = 4 &&
        cmp $0/out $2/alone.out && test "$(ls $0)" = out' \
    $folder/nothing $program $folder/plain
check "opencl: ts-replay --races, none and one" sh -c '
    build/ts-replay --races $0/plain/trace.sbt >$0/races || exit 1
    grep -q "^no race" $0/races
    build/ts-record -q -o $0/racy.sbt $1 racy >$0/racy.out
    test $? = 4 || exit 1
    build/ts-replay --races $0/racy.sbt >$0/racy
    test $? = 1 && grep -q "^1 race" $0/racy &&
        grep -q "B   add on 0:4 (queue 4)" $0/racy' $folder $program

inside() { # what to call it, compiler and its flags
    name=$1
    shift
    check "opencl: a program with the backend inside is built, $name" "$@" \
        -std=gnu11 -g -I. -Wall -Wextra -Wconversion -Wshadow -Werror \
        tests/capture/test_opencl.c -o $folder/inside-$name \
        -lcmocka -lOpenCL -lm -pthread
    check "opencl: a program with the backend inside, $name" \
        $folder/inside-$name
}
inside gcc gcc -O1
inside asan clang-14 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all
# The driver is not instrumented.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1"
inside tsan clang-14 -O0 -fsanitize=thread
