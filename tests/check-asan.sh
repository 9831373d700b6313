# The test programs under AddressSanitizer and UndefinedBehaviorSanitizer.
. tests/lib.sh
flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer"
check_build "asan: build" OUT=build/asan CC=gcc CXX=g++ CFLAGS="$flags" tests
# LeakSanitizer cannot stop the threads of a forked child: it waits for ever
# or reports what the parent still holds. These are about nothing but forks.
forking="test_fork test_crash"
WITHOUT=$forking check_programs asan build/asan
export ASAN_OPTIONS=detect_leaks=0
for program in $forking; do
    check "asan: $program" build/asan/tests/$program
done
