# Every block of C in the documents and in the headers' prologues compiles, and
# the README's program prints what the README shows.
. tests/lib.sh
folder=build/docs
rm -rf $folder
mkdir -p $folder

# usage: blocks FILE: each ```c block of a document, or what stands under USE
# in a prologue, into a file of its own; prints their names.
blocks() {
    awk -v base="$folder/$(echo "$1" | tr / _)" '
        function finish() { if (out) { close(out); print out } out = "" }
        /^```/ && out { finish(); next }
        /^```c$/ { out = base "." FNR ".c"; next }
        /^    USE$/ && FNR < 60 { out = base "." FNR ".c"; use = 1; next }
        use && /^    [A-Z]/ { finish(); use = 0 }
        use && /^\*\/$/ { finish(); use = 0 }
        out { sub(/^        /, "", $0); print >out }
    ' "$1"
}

# A block is a whole file, declarations, or statements of a function.
compiles='
    flags="-std=c11 -D_GNU_SOURCE -I. -Itools -Wall -Wextra -Wno-unused -Werror"
    gcc $flags -fsyntax-only $0 2>$0.1 && exit
    grep -q "main(" $0 && { cat $0.1; exit 1; }
    headers="#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include \"tracesmith_replay.h\""
    for header in backends/*.h; do
        test ! -e $header || headers="$headers
#include \"$header\""
    done
    { grep "^#" $0; echo "$headers"; grep -v "^#" $0; } >$0.file.c
    gcc $flags -fsyntax-only $0.file.c 2>$0.2 && exit
    { grep "^#" $0; echo "$headers"; echo "int block(void);"
        echo "int block(void) {"; grep -v "^#" $0; echo "return 0; }"; } \
        >$0.body.c
    gcc $flags -fsyntax-only $0.body.c 2>$0.3 && exit
    cat $0.2 $0.3
    exit 1'
for document in README.md docs/*.md *.h tools/tracesmith_tools.h \
    backends/*.h; do
    test -e "$document" || continue
    for block in $(blocks "$document"); do
        name=${block#"$folder"/}
        check "docs: ${name%.c}" sh -c "$compiles" "$block"
    done
done

# Programs of docs/cpp.md compile and run, and their traces hold what they say:
# spans start and end, and what is recorded is not lost.
awk -v base="$folder/cpp" '
    /^```cpp$/ { out = base "." FNR ".cpp"; next }
    /^```/ && out { close(out); out = "" }
    out { print >out }' docs/cpp.md
check "docs: cpp.md has programs" test "$(ls $folder/cpp.*.cpp | wc -l)" -ge 4
for program in "$folder"/cpp.*.cpp; do
    name=${program#"$folder"/}
    check_later "docs: ${name%.cpp}" sh -c '
        set -e
        g++ -std=c++20 -I. -Wall -Wextra -Werror "$0" -o "$0.out" -pthread
        mkdir -p "$0.run"
        cd "$0.run"
        "$0.out"
        ../../ts-info --verify trace.sbt
        ../../ts-view --events trace.sbt >events
        for name in $(sed -n "s/.*TS_[A-Z_]*(.*\"\([a-z]*\)\".*/\1/p" "$0"); do
            grep -qw "$name" events || { echo "no $name"; cat events; exit 1; }
        done' "$PWD/$program"
done
wait

# The README's first program and the first text after it, which begins with
# the command; numbers, units and spaces are made alike.
check "docs: the README's program prints what it says" sh -c '
    set -e
    folder=$0
    awk -v folder=$folder "
        /^\`\`\`c\$/ && !part { part = 1; next }
        /^\`\`\`text\$/ && part == 2 { part = 3; next }
        /^\`\`\`/ && part % 2 { part++ }
        part == 1 { print >(folder \"/program.c\") }
        part == 3 { print >(folder \"/wanted\") }" README.md
    cd $folder
    cc -std=c11 -O2 -I../.. program.c -pthread -o program
    command=$(sed -n "1s/^\\$ //p" wanted)
    test -n "$command"
    PATH=$PWD:$PWD/..:$PATH
    { printf "%s\n" "$ $command"; eval "$command"; } >got
    for file in wanted got; do
        sed -E "s/[0-9]+([.,][0-9]+)*/N/g; s/N [num]?s /N s /g; s/ +/ /g" \
            $file >$file.alike
    done
    diff -u wanted.alike got.alike
    rm trace.sbt && mkdir trace.sbt # no trace can be made: it says so
    ! ./program 2>said && grep "^trace.sbt: a folder" said
    rmdir trace.sbt' "$folder"

# The queries of docs/query.md, on what examples/pipeline records.
check_build "docs: build" all examples
check "docs: the queries run" sh -c '
    set -e
    cd $0
    ../examples/pipeline >/dev/null
    awk "/^\`\`\`sql\$/ { out = \"query.\" FNR \".sql\"; next }
        /^\`\`\`/ && out { close(out); print out; out = \"\" }
        out { print >out }" ../../docs/query.md >queries
    test "$(wc -l <queries)" = 10
    while read -r query; do
        ../ts-query --set from=0 --set to=1s -f $query trace.sbt >got 2>&1 ||
            { cat $query got; exit 1; }
        test "$(wc -l <got)" -gt 2 || { cat $query got; exit 1; }
    done <queries' "$folder"

# Blocks of commands that begin with the trace that is in the repository.
for document in docs/*.md; do
    awk -v base="$folder/$(basename "$document" .md)" '
        /^```console$/ { out = base "." FNR ".console"; next }
        /^```/ && out { close(out); out = "" }
        out { print >out }' "$document"
done
runnable=$(grep -l 'docs/examples/job' $folder/*.console)
check "docs: analyze, merge and replay have such blocks" \
    test "$(echo "$runnable" | grep -c -e analyze -e merge -e replay)" -ge 3
for block in $runnable; do
    name=${block#"$folder"/}
    check "docs: ${name%.console}" tests/console.sh "$block"
done
check "docs: the trace of the repository is what docs/examples/job.awk makes" \
    sh -c '
    set -e
    tar xzf docs/examples/job.tar.gz -C $0
    for rank in 0 1; do
        awk -v rank=$rank -f docs/examples/job.awk | cmp - $0/rank$rank.json
    done' $folder
check "docs: links lead to files, and commands of CONTRIBUTING.md exist" \
    $HERE/links.sh
# What a sentence of docs/security.md names as its test is one.
check "docs: the tests of docs/security.md exist" $HERE/security.sh
