# The test programs under AddressSanitizer and UndefinedBehaviorSanitizer.
. tests/lib.sh
flags="-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer"
# What is too big is refused, as the C library does it.
export ASAN_OPTIONS=allocator_may_return_null=1
check_build "asan: build" OUT=build/asan CC=gcc CXX=g++ CFLAGS="$flags" \
    LIB_CFLAGS=-O1 tests
# test_fork: a child of a program with threads inherits the locks of the
# sanitizer's allocator as they are, and waits for one for ever.
# test_crash: LeakSanitizer reports what the parent of a child still holds.
# test_modules: the programs that it compiles are not instrumented.
# test_steps: it stops after each instruction, of which there are many more.
WITHOUT="test_fork test_crash test_modules test_steps" check_programs asan build/asan
export ASAN_OPTIONS=detect_leaks=0
check "asan: test_crash" build/asan/tests/test_crash
