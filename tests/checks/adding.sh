# Carries out the recipes of docs/adding.md, all in one copy of the tree,
# except the event kind. That one would cause a complete rebuild, so it has a
# copy of its own, of which only the library and one test are built. The tools
# must do what the page shows.
. tests/lib.sh
check_build "adding: build" all
folder=build/adding
kind=build/adding-kind
rm -rf $folder $kind
mkdir -p $folder/build $kind
cp -pR Makefile tracesmith.h tracesmith_replay.h src backends tools man docs \
    tests $folder
# With the times of what is built, so that little is built again.
cp -pR build/found build/lines build/src build/tools build/*.a $folder/build
cp -pR Makefile tracesmith.h tracesmith_replay.h src tools docs $kind
mkdir -p $kind/tests
cp -pR tests/clang.sh tests/unit.h tests/record $kind/tests

# A block of C behind the name of a new file, blocks of differences, and
# the commands of a section.
awk -v to=$folder -v kind=$kind '
    /^## / { name = tolower(substr($0, 4)) }
    /^`[^`]*` \(new\):$/ { split($0, part, "`"); file = to "/" part[2] }
    /^```c$/ { out = file; next }
    /^```diff$/ {
        out = (name == "an event kind" ? kind : to) "/recipes.patch"
        next
    }
    /^```console$/ { out = to "/" name ".console"; next }
    /^```$/ { out = file = ""; next }
    out { print >out }
' docs/adding.md
for copy in $folder $kind; do
    check "adding: the recipes apply to $copy" \
        patch -s -p1 --no-backup-if-mismatch -d "$copy" -i recipes.patch
done
# shellcheck disable=SC2016 # for the inner shell
check "adding: the tools with them build" sh -c '
    exec make -s -j"$1" -C "$0" CFLAGS=-Werror \
        build/ts-import build/ts-export build/ts-analyze build/ts-query \
        build/ts-info' $folder "$JOBS"
for block in $folder/*.console; do
    name=${block##*/}
    # shellcheck disable=SC2016 # for the inner shell
    check "adding: ${name%.console}" sh -c '
        cd "$0" && ../../tests/console.sh "$1"' $folder "$name"
done
tests=$(sed -n 's,^+++ b/\(tests/.*/test_[a-z_]*\)[.]c$,\1,p' docs/adding.md)
doubles=$(sed -n 's,^+++ b/\(tests/doubles/lib.*\)[.]c$,build/\1.so,p' \
    docs/adding.md)
for program in $tests; do
    copy=$folder loaded=$doubles
    test -e "$folder/$program.c" || copy=$kind loaded=
    # shellcheck disable=SC2016 # for the inner shell
    check "adding: ${program##*/}" sh -ec '
        cd "$0"
        make -s CFLAGS=-Werror DOUBLES="$2" "build/$1"
        "build/$1"' $copy "$program" "$loaded"
done
# What the page says would complain does: it passes with the tools of the tree
# and fails with those of the copy.
for program in build/ts-* build/tracesmith build/examples; do
    test -e "$folder/$program" || ln -s "$PWD/$program" "$folder/$program"
done
complaining=$(sed -n 's/.*`tests.run.sh cli` fails in `\([a-z-]*\)`.*/\1/p' \
    docs/adding.md)
for name in $complaining; do
    # shellcheck disable=SC2016 # for the inner shell
    check "adding: cli/$name complains" sh -ec '
        tests/transcript.sh "$1"
        cd "$0"
        ! tests/transcript.sh "$1"' $folder "tests/cli/$name.test"
done
check "adding: the page names what complains" \
    test "$(echo "$complaining" | wc -l)" = 4
check "adding: each section has commands or a test" test \
    "$(grep -c '^## ' docs/adding.md)" = \
    "$(for part in $folder/*.console $tests; do echo "$part"; done | wc -l)"
for page in import export info; do
    check "adding: the manual page of ts-$page" \
        mandoc -T lint -W warning $folder/man/ts-$page.1
done
