# Everything builds without a warning with gcc and with clang. What gcc makes
# is what the other checks run; clang's warnings do not need its optimiser.
. tests/lib.sh
targets="all examples tests benches"
check_build "build: gcc -Werror" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" \
    $targets
check_build "build: clang -Werror" CC=clang-14 CXX=clang++-14 \
    OUT=build/clang CFLAGS="-O0 -Werror" $targets
