# Everything builds with gcc without a warning; it is what the other checks
# run. What clang warns of is seen by check-asan. Test programs run a few times
# and are many: the optimiser would take longer than it saves.
. tests/lib.sh
check_build "build: gcc -Werror" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" \
    all examples benches
check_build "build: tests" CC=gcc CXX=g++ CFLAGS="-O1 -g1 -Werror" tests
