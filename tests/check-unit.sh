# The test programs, built with gcc as a user would.
. tests/lib.sh
check_build "unit: build" CC=gcc CXX=g++ \
    CFLAGS="-O2 -g -Werror" tests
check_programs unit build
