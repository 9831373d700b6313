# Runs the test programs under AddressSanitizer and UndefinedBehaviorSanitizer,
# built by clang, which takes half of gcc's time. This build also reports
# clang's warnings for the tests, the tools, the examples and the benchmarks;
# tests/checks/build.sh reports gcc's.
. tests/lib.sh
flags="-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer -D__SANITIZE_ADDRESS__ -Werror" # as gcc calls it
# What is too big is refused, as the C library does it.
export ASAN_OPTIONS=allocator_may_return_null=1
check_build "asan: build" OUT=build/asan CC=$CLANG CXX=$CLANGXX \
    CFLAGS="$flags" LIB_CFLAGS=-O1 all examples tests benches
# test_fork, test_clone: a child of a program with threads inherits the locks of
# the sanitizer's allocator as they are, and waits for one for ever.
# test_crash: LeakSanitizer reports what the parent of a child still holds.
# test_modules: the programs that it compiles are not instrumented.
# test_signal_steps: it stops after each instruction; here there are many more.
WITHOUT="test_fork test_clone test_crash test_modules test_signal_steps" \
    check_programs asan build/asan
export ASAN_OPTIONS=detect_leaks=0
check "asan: test_crash" build/asan/tests/record/process/test_crash

# Traces that somebody wrote to do harm, to every tool: those that did once, and
# some more. `HOSTILE=5000 tests/run.sh asan` looks for others, from a case
# that HOSTILE_FROM names.
check "asan: hostile traces" sh -c '
    set -e
    rm -rf $0 && mkdir $0
    gcc -std=c11 -O1 -I. -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
        -Werror tests/fuzz/hostile.c -lzstd -o $0/hostile
    gcc -std=c11 -O2 -I. tests/checks/execute/app.c -o $0/app -pthread
    for what in pipeline pointers race; do $0/app $what $0/$what.sbt; done
    found=$(find tests/fuzz/corpus -name "*.sbt" -path "*/hostile/*")
    test -z "$found" || $0/hostile 0 build/asan $0 $found
    $0/hostile --commands 8 --from ${HOSTILE_FROM:-0} ${HOSTILE:-25} \
        build/asan $0 tests/cli/*.sbt tests/golden/*.sbt \
        $0/pipeline.sbt $0/pointers.sbt $0/race.sbt
    ' $PWD/build/asan/hostile
