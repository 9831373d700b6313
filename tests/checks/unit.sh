# Runs the test programs, built as a user would build them: they contain much
# of the headers. UNIT=... are further arguments of make.
. tests/lib.sh
if test -n "${UNIT:-}"; then
    check_build "unit: build" $UNIT all tests
else
    check_build "unit: build" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" all tests
fi
# Memory that nobody has written holds no zeros.
export MALLOC_PERTURB_=165
# What they leave behind is seen.
TMPDIR=$(mktemp -d) && chmod 755 "$TMPDIR" && export TMPDIR || exit
check_programs unit build
check "unit: tests leave no folder behind" sh -c 'ls -R "$TMPDIR" &&
    test -z "$(ls "$TMPDIR")"'
rm -r "$TMPDIR"
unset TMPDIR
check "unit: make test runs one test, or says what is near" sh -c '
    make test NAME=a_cut_text_keeps_start_and_end >$0 2>&1 &&
        grep -q "^ok 1 - a_cut_text" $0 && ! grep -q "^ok 2" $0 &&
        ! make test NAME=cli_colums 2>$0 && grep "near it: cli_columns" $0
    ' build/test-names
