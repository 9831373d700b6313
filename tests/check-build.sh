# Everything builds without a warning with gcc and with clang.
. tests/lib.sh
targets="all examples tests benches"
check_build "build: for use" all examples
check_build "build: gcc -Werror" CC=gcc CXX=g++ OUT=build/gcc \
    CFLAGS="-O2 -g -Werror" $targets
check_build "build: clang -Werror" CC=clang-14 CXX=clang++-14 \
    OUT=build/clang CFLAGS="-O2 -g -Werror" $targets
