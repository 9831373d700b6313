# The recipes of docs/adding.md, carried out: all of them in one copy of the
# tree. Its tools are built, and do what the page shows.
. tests/lib.sh
check_build "adding: build" all
folder=build/adding
rm -rf $folder
mkdir -p $folder/build $folder/tests
cp -pR Makefile tracesmith.h tracesmith_replay.h src backends tools man docs \
    $folder
cp -p tests/*.sh $folder/tests
# With the times of what is built, so that little is built again.
cp -pR build/found build/lines build/src build/tools build/*.a $folder/build

# A block of C behind the name of a new file, blocks of differences, and
# the commands of a section.
awk -v to=$folder '
    /^## / { name = tolower(substr($0, 4)) }
    /^`[^`]*` \(new\):$/ { split($0, part, "`"); file = to "/" part[2] }
    /^```c$/ { out = file; next }
    /^```diff$/ { out = to "/recipes.patch"; next }
    /^```console$/ { out = to "/" name ".console"; next }
    /^```$/ { out = file = ""; next }
    out { print >out }
' docs/adding.md
check "adding: the recipes apply" \
    patch -s -p1 --no-backup-if-mismatch -d $folder -i recipes.patch
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
check "adding: each section has commands" test \
    "$(grep -c '^## ' docs/adding.md)" = "$(ls $folder/*.console | wc -l)"
for page in import export info; do
    check "adding: the manual page of ts-$page" \
        mandoc -T lint -W warning $folder/man/ts-$page.1
done
