# Builds everything with gcc without a warning; the other checks run the
# result. checks/asan.sh reports clang's warnings.
. tests/lib.sh
check_build "build: gcc -Werror" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" \
    all examples tests benches

# What is the same on every machine, for the compiler that the budgets of the
# benchmarks were measured with.
gcc12="test \"$(gcc -dumpversion) $(uname -m)\" = '12 x86_64' ||
    { echo 'figures are those of gcc 12 on x86-64'; exit 77; }"
mkdir -p build/figures
check "build: the recorder adds at most 30 KiB of text" sh -c "$gcc12"'
    added=$(CC=gcc bench/text.sh $0 -O2 -DTRACESMITH_STATIC)
    echo "$added bytes" && test $added -le 30720' build/figures
# More than three in a hundred, either way, is a change that bench/README.md
# should know: UPDATE=1 rewrites the file.
check "build: instructions of the hot path and of five loops" sh -c "$gcc12"'
    command -v valgrind >/dev/null ||
        { echo "valgrind is not installed"; exit 77; }
    bench/counts.sh build $0 >$0/counts
    test -z "${UPDATE:-}" || cp $0/counts bench/instructions.txt
    bench/compare.sh bench/instructions.txt $0/counts' build/figures

# make finds what there is, and nothing that is not.
check "build: a header that is not there is not found" sh -c '
    mkdir -p $0/xxhash
    echo >$0/xxhash/xxhash.h
    ! make CC="gcc -nostdinc" OUT=$0/none $0/none/found 2>$0/said &&
        grep "compiles nothing" $0/said &&
        make -s CC="gcc -nostdinc -I$0/xxhash" HAVE_C=yes OUT=$0/one \
            $0/one/found && ! grep "[A-Z]" $0/one/found' build/probes

# With a compiler and xxHash alone, too: then each tool that would need another
# library says so in one sentence.
build_alone "build: with no library but xxHash" all examples

# usage: lacks LIBRARY STATUS COMMAND...: its one line names the library.
lacks='
    status=0
    folder=$0 library=$1 wanted=$2
    shift 2
    "$@" >$folder/out 2>$folder/err || status=$?
    cat $folder/err
    test $status = $wanted && test "$(wc -l <$folder/err)" = 1 &&
        grep -q "$library" $folder/err'
lacks() {
    local name
    name=$1
    shift
    mkdir -p "$alone/$name"
    check "build: without $1, $name" sh -c "$lacks" "$alone/$name" "$@"
}
compressed=$alone/compressed
check "build: a compressed trace" sh -c '
    printf "%s\n" "#include \"tracesmith.h\"" "int main(int c, char **v) {" \
        "ts_session_desc desc = { .path = v[c - 1], .compress = 1 };" \
        "ts_session_start(&desc); for (int i = 0; i < 1000; i++)" \
        "TS_COUNTER(\"n\", i); return ts_session_stop(); }" >$0.c &&
        gcc -I. $0.c build/libtracesmith.a -lzstd -pthread -o $0 &&
        $0 $0.sbt' $compressed
printf 'SQLite format 3' | dd bs=4096 count=1 conv=sync of=$alone/x.sqlite \
    2>/dev/null
echo '{ "traceEvents": [] }' >$alone/x.json
gzip -kf $alone/x.json
lacks view zstd 1 $alone/ts-view --width 80 $compressed.sbt
lacks import-json yajl 1 $alone/ts-import -o $alone/x.sbt $alone/x.json
lacks import-gzip zlib 1 $alone/ts-import -o $alone/x.sbt $alone/x.json.gz
lacks import-sqlite SQLite 1 $alone/ts-import -o $alone/x.sbt $alone/x.sqlite
lacks query SQLite 1 $alone/ts-query tests/golden/kernel.sbt 'select 1'
lacks export-gzip zlib 1 $alone/ts-export tests/golden/kernel.sbt \
    -o $alone/out.json.gz
