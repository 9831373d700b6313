# Everything builds with gcc without a warning; it is what the other checks
# run. What clang warns of is seen by check-asan.
. tests/lib.sh
check_build "build: gcc -Werror" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" \
    all examples tests benches
