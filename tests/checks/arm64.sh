# Runs test programs for aarch64 under qemu: those of code that differs there
# (atomics, alignment, sizes, the stack, signals, calling convention), and one
# or two of each tool. Also compares the digest of each real trace, imported
# here and there. Other computations of the tools are the same on both, and are
# tested by checks/unit.sh and asan.sh. Libraries come from Debian's arm64
# archive and are unpacked into the build folder: no foreign architecture is
# added to the machine.
. tests/lib.sh
root=build/arm64/root
packages="libcmocka0 libcmocka-dev libyajl2 libyajl-dev libsqlite3-0
    libsqlite3-dev zlib1g zlib1g-dev libzstd1 libzstd-dev"
if ! test -e $root/usr/include/sqlite3.h; then
    check "arm64: libraries from Debian's archive" sh -c '
        set -e
        command -v apt-get >/dev/null || {
            echo "no apt-get to fetch libraries for arm64 with"
            exit 77
        }
        mkdir -p '$root'/apt/lists/partial '$root'/apt/archives/partial
        cd '$root'
        apt="apt-get -q -o APT::Architecture=arm64
            -o APT::Architectures=arm64 -o Dir::State::Lists=$PWD/apt/lists
            -o Dir::Cache=$PWD/apt -o Dir::State::status=/dev/null
            -o APT::Sandbox::User=root"
        $apt update
        $apt download "$@"
        for package in *.deb; do dpkg-deb -x $package .; done
        # What the linker finds beside the .so is in another place here.
        cp -P lib/aarch64-linux-gnu/* usr/lib/aarch64-linux-gnu/
        ln -sf libz.so.1 usr/lib/aarch64-linux-gnu/libz.so
        cp /usr/include/xxhash.h usr/include/' packages $packages
fi
test -e $root/usr/include/sqlite3.h || exit 0
# What is not run there. test_modules compiles programs, for this machine.
# Damage and golden traces are bytes in, rows out, for minutes under qemu; the
# latter are replayed below, where all formats are imported, too. test_execute:
# test_execute_concurrent_failures has the same ways through.
WITHOUT="test_modules test_reader_damage test_reader_golden test_execute
    test_whatif_real test_races test_cli_columns test_cut_steps
    test_export_dot test_export_blocks test_races_orders test_view_trace
    test_mcp_answers
    test_analyze_* test_rewrite_* test_diff_* test_import_* test_query_*
    test_replay_* test_timeline_*"
NEVERTHELESS="test_analyze_summary test_import_threads test_replay_semantics
    test_replay_collectives test_*_host test_*_hostile"
programs=$(test_programs | sed 's,^,build/arm64/,')
# -fno-ivopts: gcc 12 folds two arrays into one index whose base wraps around
# below zero, which is right on the processor and stores nothing under qemu 7.2.
# The library is optimised, because each of its instructions is emulated.
flags="-O0 -fno-ivopts -Werror -isystem $PWD/$root/usr/include"
check_build "arm64: build" OUT=build/arm64 CC=aarch64-linux-gnu-gcc \
    CXX=aarch64-linux-gnu-g++ AR=aarch64-linux-gnu-ar CFLAGS="$flags" \
    LDFLAGS="-L$PWD/$root/usr/lib/aarch64-linux-gnu" PROGRAM_LDFLAGS= \
    LIB_CFLAGS=-O1 \
    HAVE_ZSTD=yes HAVE_ZLIB=yes HAVE_YAJL=yes HAVE_SQLITE=yes HAVE_XXHASH=yes \
    HAVE_EDIT= HAVE_DW= HAVE_ARCHIVE= HAVE_DEFLATE= HAVE_IBERTY= \
    HAVE_MICROHTTPD= HAVE_BABELTRACE= HAVE_OTF2= \
    all $programs
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
export QEMU_SET_ENV=LD_LIBRARY_PATH=$PWD/$root/usr/lib/aarch64-linux-gnu
check_programs arm64 build/arm64 qemu-aarch64-static

# Imported here and there, replayed here and there: the profile of
# tests/tools/import/training, a trace that is made now, the inputs of the
# importers' fuzzers, which may be no traces, and the real traces of $TS_DATA.
check_build "arm64: build for this machine" all build/bench/gen_trace
folder=build/arm64/traces
rm -rf $folder
mkdir -p $folder
arm="qemu-aarch64-static build/arm64"
# alike COMMAND TWIN: both exit with the same status and say the same.
alike='
alike() {
    one=$(eval "$1" 2>&1) && one="$one 0" || one="$one $?"
    two=$(eval "$2" 2>&1) && two="$two 0" || two="$two $?"
    two=$(echo "$two" | sed s,/twin/,/here/,g)
    test "$one" = "$two" || { echo "here: $one"; echo "there: $two"; exit 1; }
}
digests() { # TRACE
    for change in "" "--what-if \"host 0.7\""; do
        alike "build/ts-replay --digest $change \"$1\"" \
            "'"$arm"'/ts-replay --digest $change \"$1\""
    done
}'
same() { # FILE, NAME
    mkdir -p "$folder/$2/here" "$folder/$2/twin"
    check "arm64: $2, the same trace and the same digest" sh -ec "$alike"'
        alike "build/ts-import -o \"$1/here/\" \"$0\"" \
            "'"$arm"'/ts-import -o \"$1/twin/\" \"$0\""
        diff -r "$1/here" "$1/twin"
        for trace in "$1"/here/*; do
            test ! -e "$trace" || digests "$trace"
        done' "$1" "$folder/$2"
}
digest() { # TRACE
    check "arm64: $(basename "$1"), the same digest" sh -ec "$alike"'
        digests "$0"' "$1"
}
same tests/tools/import/training/training.json.gz training.json.gz
for packed in tests/fuzz/corpus/sqlite/* tests/fuzz/corpus/kineto/* \
    tests/fuzz/corpus/chakra/*; do
    # libarchive is not there.
    case $packed in */archive*) continue ;; esac
    same "$packed" "corpus $(basename "$packed")"
done
check "arm64: a trace to replay" build/bench/gen_trace calls12 4000 \
    $folder/calls.sbt
for trace in $folder/calls.sbt tests/golden/*.sbt; do
    digest "$trace"
done
data=${TS_DATA:-../shared/data}
for packed in "$data"/kineto/* "$data"/nsys/* "$data"/rocm/* \
    "$data"/chakra/*; do
    case $packed in *.tar.gz) continue ;; esac
    test ! -e "$packed" || same "$packed" "$(basename "$packed")"
done
