# The test programs under ThreadSanitizer.
. tests/lib.sh
flags="-O1 -g -fsanitize=thread"
export TSAN_OPTIONS=second_deadlock_stack=1
check "tsan: build" $MAKE OUT=build/tsan CC=gcc CXX=g++ CFLAGS="$flags" tests
check_programs tsan build/tsan
