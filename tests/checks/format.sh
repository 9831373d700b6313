# The layout is that of .clang-format, no line of code exceeds 80 columns, and
# the headers equal the sum of their sections in src/.
. tests/lib.sh
check "format: clang-format" sh -c '
    make -s format-check 2>$0 && exit
    cat $0
    grep "^The layout is what clang-format 14 makes" $0 && exit 77
    exit 1' build/format.err
check "format: 80 columns" sh -c '
    grep -nE "^.{81,}" Makefile .ci/run $(find . -path ./build -prune -o \
        \( -name "*.[ch]" -o -name "*.cpp" -o -name "*.sh" \) -print)
    test $? = 1 # 2: grep itself failed'
check "format: tracesmith.h is the sum of src/record" sh -c '
    src/amalgamate.sh src/record | diff - tracesmith.h'
check "format: tracesmith_replay.h is the sum of src/replay" sh -c '
    src/amalgamate.sh src/replay | diff - tracesmith_replay.h'
check "format: CONTENTS are the sections of the two headers" sh -c '
    for header in tracesmith.h tracesmith_replay.h; do
        awk "/^ *CONTENTS / { on = 1; next } /^\*\// { exit }
            on { sub(/^ +/, \"\"); sub(/   .*/, \"\"); print }" $header >$0.said
        sed -n "s,^/\* ==== \(.*[^ =]\) =*  *\*/\$,\1,p" $header >$0.are
        test "$(wc -l <$0.are)" -gt 9 && diff $0.said $0.are || exit 1
    done' build/contents
