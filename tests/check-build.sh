# Everything builds without a warning with gcc and with clang.
. tests/lib.sh
targets="all examples tests benches"
check "build: for use" $MAKE all examples
check "build: gcc -Werror" $MAKE CC=gcc CXX=g++ OUT=build/gcc \
    CFLAGS="-O2 -g -Werror" $targets
check "build: clang -Werror" $MAKE CC=clang-14 CXX=clang++-14 \
    OUT=build/clang CFLAGS="-O2 -g -Werror" $targets
