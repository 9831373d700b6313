# Programs that know nothing of TraceSmith, recorded by the injected library:
# the trace has what they did, and they print and return what they do without.
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
        -isystem "$cuda/include" tests/capture/nvtx_program.c -o $nvtx -ldl
    check "capture: NVTX is laid out as the handler says" gcc -std=c11 -I. \
        -isystem "$cuda/include" -fsyntax-only tests/capture/nvtx_abi.c
else
    check "capture: an NVTX program" sh -c \
        'echo "no NVTX headers in $0/include"; exit 77' "$cuda"
fi
test ! -e $nvtx || check "capture: an NVTX program says all of it" sh -c '
    status=0
    TRACESMITH_OUT=$0.sbt NVTX_INJECTION64_PATH=$1 $0 >$0.out 2>$0.err ||
        status=$?
    test $status = 3 && test ! -s $0.err && test "$(cat $0.out)" = done &&
        tests/capture/shape.sh $0.sbt |
        diff -u tests/capture/nvtx_program.want -' $nvtx "$inject"

check "capture: without TRACESMITH_OUT nothing is recorded" sh -c '
    mkdir $0 && cd $0 && LD_PRELOAD=$1 TRACESMITH_OUT= ls >/dev/null &&
        LD_PRELOAD=$1 ls && test -z "$(ls)"' $folder/empty "$inject"
check "capture: only the names vendors look for are visible" sh -c '
    nm -D --defined-only "$0" | sed "s/.* //" | sort >$1/names
    printf "%s\n" InitializeInjectionNvtx2 | diff -u - $1/names' \
    "$inject" $folder
check "capture: fork, exec and _exit, preloaded" sh -c '
    cd $0
    TRACESMITH_OUT=%p.sbt LD_PRELOAD=$1 sh -c "ls >/dev/null; true | cat" &&
        test "$(ls *.sbt | wc -l)" -ge 3 &&
        for trace in [0-9]*.sbt; do
            ../ts-info --verify $trace || exit 1
        done' \
    $folder "$inject"
