# Operations of OpenCL run again on PoCL: what the executor does by itself, and
# programs that know nothing of TraceSmith, recorded and replayed.
. tests/lib.sh
folder=build/opencl-execute
rm -rf $folder
mkdir -p $folder
export POCL_CACHE_DIR=$PWD/build/pocl # kernels are compiled once
export POCL_MAX_PTHREAD_COUNT=2       # one for a kernel that does not end

if ! echo '#include <CL/cl.h>' | gcc -E -xc - >/dev/null 2>&1 ||
    ! gcc -shared -o $folder/link.so -xc /dev/null -lOpenCL 2>/dev/null ||
    ! ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; then
    check "opencl-execute: programs" sh -c \
        'echo "no PoCL, or no headers of OpenCL"; exit 77'
    exit 0
fi
check "opencl-execute: the interface is as the executor says" gcc -std=gnu11 \
    -I. -fsyntax-only tests/execute/opencl_abi.c

executor() { # what to call it, compiler and its flags
    name=$1
    shift
    check "opencl-execute: the executor is built, $name" "$@" \
        -std=gnu11 -g -I. -Wall -Wextra -Wconversion -Wshadow -Werror \
        tests/execute/opencl_executor.c -o $folder/executor-$name \
        -lcmocka -lm -ldl -pthread
    check "opencl-execute: the executor, $name" $folder/executor-$name
}
executor gcc gcc -O1
# What the driver keeps is its own; the fuzzer counts what it is handed.
echo leak:libpocl >$folder/lsan
export LSAN_OPTIONS=suppressions=$PWD/$folder/lsan:print_suppressions=0
executor asan clang-14 -O0 -fsanitize=address,undefined \
    -fno-sanitize-recover=all
