# A representative part of the test programs under valgrind: it sees what is
# read before it was written, which the sanitizers do not.
. tests/lib.sh
check "valgrind: build" $MAKE OUT=build/gcc CC=gcc CXX=g++ \
    CFLAGS="-O2 -g -Werror" tests
for program in $(sed -n 's/^VALGRIND = //p' Makefile); do
    test -e "tests/$program.c" || continue
    check "valgrind: $program" valgrind -q --error-exitcode=99 \
        --leak-check=full --errors-for-leak-kinds=definite \
        --trace-children=no --child-silent-after-fork=yes \
        "build/gcc/tests/$program"
done
