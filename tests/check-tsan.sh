# The test programs under ThreadSanitizer.
. tests/lib.sh
flags="-O1 -g -fsanitize=thread"
export TSAN_OPTIONS=second_deadlock_stack=1
check_build "tsan: build" OUT=build/tsan CC=gcc CXX=g++ CFLAGS="$flags" tests
# test_fork: the sanitizer does not support threads in a forked child.
# test_reader_damage: one thread that reads 100,000 broken traces: minutes
# here, and nothing to see.
# test_signal: gcc 12's sanitizer itself faults, in the clocks of a thread that
# ends while a signal is under way.
# test_surroundings: it closes descriptors that the recorder writes to, which
# is a race because it is meant to be one.
WITHOUT="test_fork test_reader_damage test_signal test_surroundings" \
    check_programs tsan build/tsan
