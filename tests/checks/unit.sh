# The test programs, built as a user would: much of the headers is in them.
# UNIT=... are other words for make.
. tests/lib.sh
if test -n "${UNIT:-}"; then
    check_build "unit: build" $UNIT all tests
else
    check_build "unit: build" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" all tests
fi
# Memory that nobody has written holds no zeros.
export MALLOC_PERTURB_=165
check_programs unit build
