# The test programs, built as a user would: much of the headers is in them.
. tests/lib.sh
check_build "unit: build" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" all tests
check_programs unit build
